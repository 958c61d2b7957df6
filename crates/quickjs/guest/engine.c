/* The engine as one translation unit, with what its interface lacks. */
#include "quickjs.h"

/* The engine measures its stack by the part of it that lies in linear memory, so whatever recurses
 * must leave something there: else it reaches the end of the native stack unseen, which no script
 * can catch. Two recursions leave nothing. The prototype of a chain of proxies does once this
 * function is inlined, and the construction of a chain of bound functions has no arguments to copy.
 */
struct JSProxyData;
static struct JSProxyData *get_proxy_method(JSContext *context, JSValue *method, JSValueConst proxy,
                                            JSAtom name) __attribute__((noinline));
#include <alloca.h>
#undef alloca
#define alloca(size) __builtin_alloca((size) + 16)

#include "quickjs.c"

/* A snapshot freezes the seed that the context took at its start; each call brings its own. */
void bailiwick_reseed(JSContext *context, uint64_t seed) {
  context->random_state = seed ? seed : 1;
}

/* Memory that is let go when an allocation fails, so that there is room to say so: without it the
 * engine throws `null` where it cannot even make an error, which no author can tell from their own.
 */
enum { RESERVE = 256 * 1024, ALLOCATIONS_UNTIL_RESTORED = 16 };
static void *reserve;
static int allocations_since;

void bailiwick_restore_reserve(void) {
  if (!reserve) reserve = malloc(RESERVE);
}

static void *checked(void *made) {
  if (!made) {
    free(reserve);
    reserve = NULL;
    allocations_since = 0;
  } else if (!reserve && ++allocations_since > ALLOCATIONS_UNTIL_RESTORED) {
    allocations_since = 0;
    bailiwick_restore_reserve();
  }
  return made;
}

static void *checked_calloc(void *opaque, size_t count, size_t size) {
  return checked(js_def_calloc(opaque, count, size));
}

static void *checked_malloc(void *opaque, size_t size) {
  return checked(js_def_malloc(opaque, size));
}

static void *checked_realloc(void *opaque, void *from, size_t size) {
  void *made = js_def_realloc(opaque, from, size);
  return size == 0 ? made : checked(made);
}

/* The engine does not know that this libc can tell, and would count eight bytes for each block: it
 * would hardly ever look for cycles. */
extern size_t malloc_usable_size(void *block);

static size_t usable_size(const void *block) { return malloc_usable_size((void *)block); }

JSRuntime *bailiwick_new_runtime(void) {
  static const JSMallocFunctions functions = {
      checked_calloc, checked_malloc, js_def_free, checked_realloc, usable_size,
  };
  bailiwick_restore_reserve();
  return JS_NewRuntime2(&functions, NULL);
}
