/* The engine as a guest: what the host calls, and what JavaScript can ask of the host.
 *
 * The host trusts nothing in this file: it checks each pointer, length and number that comes out.
 * `crates/isolate/src/abi.rs` is the other side of these declarations.
 */
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("bailiwick"), import_name(name)))

IMPORT("start") extern void host_start(uint32_t id, const char *member, uint32_t member_length,
                                       const char *arguments, uint32_t arguments_length);
IMPORT("sleep") extern void host_sleep(uint32_t id, double milliseconds);
IMPORT("drop") extern void host_drop(uint32_t id);
IMPORT("log") extern void host_log(const char *level, uint32_t level_length, const char *text,
                                   uint32_t text_length);
IMPORT("update") extern void host_update(const char *json, uint32_t length);
IMPORT("done") extern void host_done(uint32_t kind, const char *bytes, uint32_t length);
IMPORT("entropy") extern uint64_t host_entropy(void);

/* These answer 0, or the length of a reply that `reply` copies out. */
IMPORT("clock") extern uint32_t host_clock(uint32_t which, double *milliseconds);
IMPORT("random") extern uint32_t host_random(uint8_t *bytes, uint32_t length);
IMPORT("pure") extern uint32_t host_pure(const char *operation, uint32_t operation_length,
                                         const char *arguments, uint32_t arguments_length);
IMPORT("reply") extern void host_reply(char *bytes);

extern void bailiwick_reseed(JSContext *context, uint64_t seed);
extern void bailiwick_restore_reserve(void);
extern JSRuntime *bailiwick_new_runtime(void);
extern void __wasm_call_ctors(void);

/* What `run` can be asked to do; `isolate` passes the number through. */
enum { COMPILE_ARROW = 1, COMPILE_MODULE, DESCRIBE, CALL_ARROW, CALL_MODULE };

/* The kinds of answer; the prelude has the others. */
enum { ANSWER_THREW = 2, ANSWER_BYTECODE = 4 };

/* What the prelude hands out. */
enum { PREPARE, BEGIN, CALL, CALL_TOOL, DESCRIBE_TOOL, RETURNED, SETTLE, THREW, ENTRY_COUNT };
static const char *const ENTRY_NAMES[ENTRY_COUNT] = {
    "prepare", "begin", "call", "callTool", "describe", "returned", "settle", "threw",
};

static JSRuntime *runtime;
static JSContext *context;
static JSValue entries[ENTRY_COUNT];
/* What `prepare` made: the `context` of a call, but for who calls. */
static JSValue call_context;
/* The promise of what a tool returns, until it is settled. */
static JSValue awaited = JS_UNDEFINED;
static uint32_t last_id;
static int is_answered;

static void answer(uint32_t kind, const char *bytes, size_t length) {
  is_answered = 1;
  host_done(kind, bytes, (uint32_t)length);
}

/* Says that there is no memory left to say anything. */
static void answer_nothing(void) {
  static const char NOTHING[] = "{\"outOfMemory\":true}";
  JS_FreeValue(context, JS_GetException(context));
  if (!is_answered) answer(ANSWER_THREW, NOTHING, sizeof NOTHING - 1);
}

/* Has the prelude report the pending exception; where even that throws, says so without words. */
static void report_exception(void) {
  JSValue thrown = JS_GetException(context);
  /* The engine had no memory to make what it would have thrown. */
  if (JS_IsUninitialized(thrown)) {
    answer_nothing();
    return;
  }
  JSValue result = JS_Call(context, entries[THREW], JS_UNDEFINED, 1, &thrown);
  if (JS_IsException(result)) answer_nothing();
  JS_FreeValue(context, result);
  JS_FreeValue(context, thrown);
}

static void finish(JSValue result) {
  if (JS_IsException(result)) report_exception();
  JS_FreeValue(context, result);
}

/* Has the prelude answer with what a promise came to. */
static JSValue deliver(JSContext *js, int count, JSValueConst *promise) {
  JSValue result = JS_PromiseResult(js, *promise);
  int entry = JS_PromiseState(js, *promise) == JS_PROMISE_FULFILLED ? RETURNED : THREW;
  JSValue delivered = JS_Call(js, entries[entry], JS_UNDEFINED, 1, &result);
  JS_FreeValue(js, result);
  return delivered;
}

/* Runs what promises have queued, until there is an answer or nothing to do. What was queued before
 * a tool's promise was settled runs before the answer, as it would before a reaction to it: making
 * one of those is half of what a short call costs. */
static uint32_t pump(void) {
  JSContext *job_context;
  while (!is_answered) {
    if (JS_IsObject(awaited) && JS_PromiseState(context, awaited) != JS_PROMISE_PENDING) {
      if (JS_EnqueueJob(context, deliver, 1, &awaited) < 0) report_exception();
      JS_FreeValue(context, awaited);
      awaited = JS_UNDEFINED;
    }
    int ran = JS_ExecutePendingJob(runtime, &job_context);
    if (ran == 0) break;
    if (ran < 0) report_exception();
    bailiwick_restore_reserve();
  }
  return is_answered;
}

/* ---- what JavaScript can ask of the host ---- */

typedef struct {
  const char *text;
  size_t length;
} Text;

static int take(JSContext *js, JSValueConst value, Text *text) {
  text->text = JS_ToCStringLen(js, &text->length, value);
  return text->text != NULL;
}

static JSValue reply(JSContext *js, uint32_t length) {
  char *bytes = js_malloc(js, length);
  if (!bytes) return JS_EXCEPTION;
  host_reply(bytes);
  JSValue text = JS_NewStringLen(js, bytes, length);
  js_free(js, bytes);
  return text;
}

static JSValue native_start(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  Text member, arguments;
  if (!take(js, values[0], &member)) return JS_EXCEPTION;
  if (!take(js, values[1], &arguments)) {
    JS_FreeCString(js, member.text);
    return JS_EXCEPTION;
  }
  uint32_t id = ++last_id;
  host_start(id, member.text, member.length, arguments.text, arguments.length);
  JS_FreeCString(js, member.text);
  JS_FreeCString(js, arguments.text);
  return JS_NewUint32(js, id);
}

static JSValue native_sleep(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  double milliseconds;
  if (JS_ToFloat64(js, &milliseconds, values[0])) return JS_EXCEPTION;
  uint32_t id = ++last_id;
  host_sleep(id, milliseconds);
  return JS_NewUint32(js, id);
}

static JSValue native_drop(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  uint32_t id;
  if (JS_ToUint32(js, &id, values[0])) return JS_EXCEPTION;
  host_drop(id);
  return JS_UNDEFINED;
}

static JSValue native_log(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  Text level, text;
  if (!take(js, values[0], &level)) return JS_EXCEPTION;
  if (!take(js, values[1], &text)) {
    JS_FreeCString(js, level.text);
    return JS_EXCEPTION;
  }
  host_log(level.text, level.length, text.text, text.length);
  JS_FreeCString(js, level.text);
  JS_FreeCString(js, text.text);
  return JS_UNDEFINED;
}

static JSValue native_update(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  Text json;
  if (!take(js, values[0], &json)) return JS_EXCEPTION;
  host_update(json.text, json.length);
  JS_FreeCString(js, json.text);
  return JS_UNDEFINED;
}

static JSValue native_done(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  uint32_t kind;
  Text json;
  if (JS_ToUint32(js, &kind, values[0])) return JS_EXCEPTION;
  if (!take(js, values[1], &json)) {
    if (kind != ANSWER_THREW) return JS_EXCEPTION;
    /* Whoever called would try this very answer again. */
    answer_nothing();
    return JS_UNDEFINED;
  }
  if (!is_answered) answer(kind, json.text, json.length);
  JS_FreeCString(js, json.text);
  return JS_UNDEFINED;
}

/* `which` is 0 for the time of day and 1 for the monotonic clock. */
static JSValue native_clock(JSContext *js, JSValueConst self, int count, JSValueConst *values,
                            int which) {
  double milliseconds;
  uint32_t denial = host_clock(which, &milliseconds);
  return denial ? reply(js, denial) : JS_NewFloat64(js, milliseconds);
}

static JSValue native_random(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  uint64_t bits;
  uint32_t denial = host_random((uint8_t *)&bits, sizeof bits);
  return denial ? reply(js, denial) : JS_NewFloat64(js, (double)(bits >> 11) * 0x1p-53);
}

static JSValue native_random_bytes(JSContext *js, JSValueConst self, int count,
                                   JSValueConst *values) {
  size_t length;
  uint8_t *bytes = JS_GetUint8Array(js, &length, values[0]);
  if (!bytes) return JS_EXCEPTION;
  uint32_t denial = host_random(bytes, (uint32_t)length);
  return denial ? reply(js, denial) : JS_UNDEFINED;
}

static JSValue native_url(JSContext *js, JSValueConst self, int count, JSValueConst *values) {
  Text operation, arguments;
  if (!take(js, values[0], &operation)) return JS_EXCEPTION;
  if (!take(js, values[1], &arguments)) {
    JS_FreeCString(js, operation.text);
    return JS_EXCEPTION;
  }
  uint32_t length =
      host_pure(operation.text, operation.length, arguments.text, arguments.length);
  JS_FreeCString(js, operation.text);
  JS_FreeCString(js, arguments.text);
  return reply(js, length);
}

static JSValue native_utf8_encode(JSContext *js, JSValueConst self, int count,
                                  JSValueConst *values) {
  Text text;
  if (!take(js, values[0], &text)) return JS_EXCEPTION;
  JSValue buffer = JS_NewArrayBufferCopy(js, (const uint8_t *)text.text, text.length);
  JS_FreeCString(js, text.text);
  return buffer;
}

/* Returns whether bytes are UTF-8 as the Unicode Standard's table 3-7 has it. */
static int is_utf8(const uint8_t *at, const uint8_t *end) {
  while (at < end) {
    uint8_t lead = *at++;
    if (lead < 0x80) continue;
    int rest = lead >= 0xC2 && lead <= 0xDF ? 1 : lead >= 0xE0 && lead <= 0xEF ? 2
               : lead >= 0xF0 && lead <= 0xF4 ? 3 : 0;
    if (rest == 0 || end - at < rest) return 0;
    uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (*at < low || *at > high) return 0;
    for (int i = 1; i < rest; i++) {
      if ((at[i] & 0xC0) != 0x80) return 0;
    }
    at += rest;
  }
  return 1;
}

static JSValue native_utf8_decode(JSContext *js, JSValueConst self, int count,
                                  JSValueConst *values) {
  size_t size;
  uint32_t offset, length;
  uint8_t *bytes = JS_GetArrayBuffer(js, &size, values[0]);
  if (!bytes && size != 0) return JS_EXCEPTION;
  if (JS_ToUint32(js, &offset, values[1]) || JS_ToUint32(js, &length, values[2])) {
    return JS_EXCEPTION;
  }
  if (offset > size || length > size - offset) return JS_ThrowRangeError(js, "beyond the buffer");
  if (!is_utf8(bytes + offset, bytes + offset + length)) return JS_NULL;
  return JS_NewStringLen(js, (const char *)bytes + offset, length);
}

static const JSCFunctionListEntry NATIVE[] = {
    JS_CFUNC_DEF("start", 2, native_start),
    JS_CFUNC_DEF("sleep", 1, native_sleep),
    JS_CFUNC_DEF("drop", 1, native_drop),
    JS_CFUNC_DEF("log", 2, native_log),
    JS_CFUNC_DEF("update", 1, native_update),
    JS_CFUNC_DEF("done", 2, native_done),
    JS_CFUNC_MAGIC_DEF("now", 0, native_clock, 0),
    JS_CFUNC_MAGIC_DEF("monotonic", 0, native_clock, 1),
    JS_CFUNC_DEF("random", 0, native_random),
    JS_CFUNC_DEF("randomBytes", 1, native_random_bytes),
    JS_CFUNC_DEF("url", 2, native_url),
    JS_CFUNC_DEF("utf8Encode", 1, native_utf8_encode),
    JS_CFUNC_DEF("utf8Decode", 3, native_utf8_decode),
};

/* The engine's own clock stands still; the prelude asks the host, which asks the policy. */
double __rquickjs_host_now_us(void) { return 0; }

/* ---- what the host can ask of the guest ---- */

EXPORT("alloc") void *guest_alloc(uint32_t length) { return malloc(length ? length : 1); }

static void compile(int kind, const char *name, uint32_t name_length, const char *source,
                    uint32_t source_length) {
  char *copy = malloc((size_t)name_length + source_length + 2);
  if (!copy) abort();
  memcpy(copy, name, name_length);
  copy[name_length] = 0;
  char *text = copy + name_length + 1;
  memcpy(text, source, source_length);
  text[source_length] = 0;
  int flags = kind == COMPILE_MODULE ? JS_EVAL_TYPE_MODULE
                                     : JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT;
  JSValue code = JS_Eval(context, text, source_length, copy, flags | JS_EVAL_FLAG_COMPILE_ONLY);
  free(copy);
  if (JS_IsException(code)) {
    report_exception();
    return;
  }
  size_t length;
  uint8_t *bytes = JS_WriteObject(context, &length, code, JS_WRITE_OBJ_BYTECODE);
  if (bytes) {
    answer(ANSWER_BYTECODE, (const char *)bytes, length);
  } else {
    report_exception();
  }
}

/* Evaluates compiled code, and hands the prelude's `entry` what it made and, where the top level of
 * a module waits for something, the promise of its end. */
static void evaluate(int entry, int is_module, const uint8_t *code, uint32_t code_length,
                     const char *arguments, uint32_t arguments_length) {
  JSValue compiled = JS_ReadObject(context, code, code_length, JS_READ_OBJ_BYTECODE);
  if (JS_IsException(compiled)) {
    report_exception();
    return;
  }
  JSValue values[3] = {JS_UNDEFINED, JS_NewStringLen(context, arguments, arguments_length),
                       JS_UNDEFINED};
  if (is_module) {
    JSModuleDef *module = JS_VALUE_GET_PTR(compiled);
    if (JS_ResolveModule(context, compiled) < 0) {
      report_exception();
      return;
    }
    values[2] = JS_EvalFunction(context, compiled);
    values[0] = JS_GetModuleNamespace(context, module);
    if (JS_PromiseState(context, values[2]) == JS_PROMISE_FULFILLED) {
      JS_FreeValue(context, values[2]);
      values[2] = JS_UNDEFINED;
    }
  } else {
    values[0] = JS_EvalFunction(context, compiled);
  }
  if (JS_IsException(values[0]) || JS_IsException(values[1]) || JS_IsException(values[2])) {
    report_exception();
    return;
  }
  awaited = JS_Call(context, entries[entry], JS_UNDEFINED, 3, values);
  if (JS_IsException(awaited)) report_exception();
}

static uint32_t take_number(const uint8_t **at) {
  uint32_t number;
  memcpy(&number, *at, sizeof number);
  *at += sizeof number;
  return number;
}

/* Makes what is of this call: the bounds of its JSON, then a name and a text for each identifier of
 * `context`, with their lengths before them. Answers whether it could. */
static int begin(const uint8_t *at, uint32_t length) {
  const uint8_t *end = at + length;
  JSValue depth = JS_NewUint32(context, take_number(&at));
  JSValue bounds[2] = {depth, JS_NewUint32(context, take_number(&at))};
  JSValue begun = JS_Call(context, entries[BEGIN], JS_UNDEFINED, 2, bounds);
  if (JS_IsException(begun)) return 0;
  while (at < end) {
    uint32_t name_length = take_number(&at);
    JSAtom name = JS_NewAtomLen(context, (const char *)at, name_length);
    at += name_length;
    uint32_t text_length = take_number(&at);
    JSValue text = JS_NewStringLen(context, (const char *)at, text_length);
    at += text_length;
    if (JS_IsException(text)) return 0;
    if (JS_DefinePropertyValue(context, call_context, name, text, JS_PROP_ENUMERABLE) < 0) return 0;
    JS_FreeAtom(context, name);
  }
  return JS_PreventExtensions(context, call_context) >= 0;
}

/* Does one thing with up to three parts that lie behind one another; answers 1 when done called. */
EXPORT("run")
uint32_t guest_run(uint32_t operation, uint32_t stack, const char *parts, uint32_t first,
                   uint32_t second, uint32_t third) {
  JS_UpdateStackTop(runtime);
  JS_SetMaxStackSize(runtime, stack);
  bailiwick_reseed(context, host_entropy());
  const char *code = parts + first;
  if (operation == COMPILE_ARROW || operation == COMPILE_MODULE) {
    compile(operation, parts, first, code, second);
    return is_answered;
  }
  if (!begin((const uint8_t *)parts, first)) {
    report_exception();
    return is_answered;
  }
  int is_module = operation != CALL_ARROW;
  int entry = operation == CALL_ARROW ? CALL : operation == CALL_MODULE ? CALL_TOOL : DESCRIBE_TOOL;
  evaluate(entry, is_module, (const uint8_t *)code, second, code + second, third);
  return pump();
}

/* Settles what `start` or `sleep` began; answers 1 when the call has its answer. */
EXPORT("settle")
uint32_t guest_settle(uint32_t id, uint32_t is_ok, char *json, uint32_t length) {
  JS_UpdateStackTop(runtime);
  JSValue values[3] = {JS_NewUint32(context, id), JS_NewBool(context, is_ok),
                       JS_NewStringLen(context, json, length)};
  free(json);
  finish(JS_Call(context, entries[SETTLE], JS_UNDEFINED, 3, values));
  return pump();
}

/* ---- the start, whose end is the snapshot ---- */

static const char PRELUDE[] = {
#include "prelude.inc"
    , 0};

/* Takes the room between what lives, so that a call allocates beyond it: pages that it writes are
 * pages that the host puts back, and scattered over the heap they would be three times as many. */
static void fill_gaps(void) {
  char *top = malloc(65536);
  free(top);
  for (size_t size = 32768; size >= 16; size = size > 512 ? size / 2 : size - 16) {
    for (;;) {
      char *made = malloc(size);
      if (!made || made >= top) {
        free(made);
        break;
      }
    }
  }
}

/* Bytes that a call may allocate before the engine looks for cycles. */
enum { GC_HEADROOM = 512 * 1024 };

EXPORT("wizer-initialize") void guest_initialize(void) {
  __wasm_call_ctors();
  runtime = bailiwick_new_runtime();
  if (!runtime) abort();
  JS_SetMaxStackSize(runtime, 512 * 1024);
  context = JS_NewContext(runtime);
  if (!context) abort();
  JSValue native = JS_NewObject(context);
  JS_SetPropertyFunctionList(context, native, NATIVE, sizeof NATIVE / sizeof *NATIVE);
  JSValue prelude =
      JS_Eval(context, PRELUDE, sizeof PRELUDE - 1, "<prelude>", JS_EVAL_TYPE_GLOBAL);
  JSValue made = JS_Call(context, prelude, JS_UNDEFINED, 1, &native);
  if (JS_IsException(made)) {
    JSValue thrown = JS_GetException(context);
    JSValue stack = JS_GetPropertyStr(context, thrown, "stack");
    Text what, where;
    if (take(context, thrown, &what)) host_log("error", 5, what.text, what.length);
    if (take(context, stack, &where)) host_log("error", 5, where.text, where.length);
    abort();
  }
  for (int i = 0; i < ENTRY_COUNT; i++) {
    entries[i] = JS_GetPropertyStr(context, made, ENTRY_NAMES[i]);
    if (!JS_IsFunction(context, entries[i])) abort();
  }
  static const char SETTING[] = "setting";
  uint32_t length = host_pure(SETTING, sizeof SETTING - 1, SETTING, 0);
  JSValue setting = reply(context, length);
  call_context = JS_Call(context, entries[PREPARE], JS_UNDEFINED, 1, &setting);
  if (!JS_IsObject(call_context)) abort();
  JS_FreeValue(context, setting);
  JS_FreeValue(context, prelude);
  JS_FreeValue(context, made);
  JS_FreeValue(context, native);
  JS_RunGC(runtime);
  /* Else the first objects of each call would have the engine look through all of the prelude. */
  JSMemoryUsage usage;
  JS_ComputeMemoryUsage(runtime, &usage);
  JS_SetGCThreshold(runtime, (size_t)usage.malloc_size + GC_HEADROOM);
  fill_gaps();
}
