;; A guest that does what its input says, so that a test is a list of steps.
;;
;; The second part of the input has six numbers: where in the first the steps of `run`, of every
;; `settle` and of the last one begin and end, and how many settlings the last one is. A step has 32
;; bytes: its number and up to seven arguments. `tests/it/script.rs` writes them.
(module
  (import "bailiwick" "start" (func $start (param i32 i32 i32 i32 i32)))
  (import "bailiwick" "sleep" (func $sleep (param i32 f64)))
  (import "bailiwick" "drop" (func $drop (param i32)))
  (import "bailiwick" "log" (func $log (param i32 i32 i32 i32)))
  (import "bailiwick" "update" (func $update (param i32 i32)))
  (import "bailiwick" "done" (func $done (param i32 i32 i32)))
  (import "bailiwick" "entropy" (func $entropy (result i64)))
  (import "bailiwick" "clock" (func $clock (param i32 i32) (result i32)))
  (import "bailiwick" "random" (func $random (param i32 i32) (result i32)))
  (import "bailiwick" "pure" (func $pure (param i32 i32 i32 i32) (result i32)))
  (import "bailiwick" "reply" (func $reply (param i32)))

  (memory (export "memory") 1)
  (data (i32.const 16) "info")
  (table $table 1 funcref)

  ;; Where the next allocation lies; and where every one lies, unless it is -1.
  (global $next (mut i32) (i32.const 65536))
  (global $place (mut i32) (i32.const -1))
  (global $kept (mut i32) (i32.const 0))
  (global $stack (mut i32) (i32.const 0))
  (global $parts (mut i32) (i32.const 0))
  (global $header (mut i32) (i32.const 0))
  ;; What `settle` was told last.
  (global $settled (mut i32) (i32.const 0))
  (global $id (mut i32) (i32.const 0))
  (global $json (mut i32) (i32.const 0))
  (global $json_length (mut i32) (i32.const 0))

  (func $begin (nop) (;START;))
  (start $begin)

  (func (export "alloc") (param $length i32) (result i32)
    (local $place i32) (local $end i32) (local $missing i32)
    (;ALLOC;)
    (if (i32.ne (global.get $place) (i32.const -1)) (then (return (global.get $place))))
    (local.set $place (global.get $next))
    (local.set $end (i32.add (local.get $place) (local.get $length)))
    (local.set $missing (i32.sub
      (i32.shr_u (i32.add (local.get $end) (i32.const 65535)) (i32.const 16))
      (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0)) (then
      (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1)) (then
        (return (i32.const 0))))))
    (global.set $next (i32.and (i32.add (local.get $end) (i32.const 7)) (i32.const -8)))
    (local.get $place))

  (func (export "run")
    (param $operation i32) (param $stack i32) (param $parts i32)
    (param $first i32) (param $second i32) (param $third i32) (result i32)
    (global.set $stack (local.get $stack))
    (global.set $parts (local.get $parts))
    (global.set $header (i32.add (local.get $parts) (local.get $first)))
    (call $carry_out (i32.const 0))
    (i32.const 0))

  (func (export "settle")
    (param $id i32) (param $ok i32) (param $json i32) (param $length i32) (result i32)
    (;SETTLE;)
    (global.set $id (local.get $id))
    (global.set $json (local.get $json))
    (global.set $json_length (local.get $length))
    (global.set $settled (i32.add (global.get $settled) (i32.const 1)))
    (call $carry_out (i32.const 8))
    (if (i32.eq (global.get $settled)
                (i32.load (i32.add (global.get $header) (i32.const 24)))) (then
      (call $carry_out (i32.const 16))))
    (i32.const 0))

  ;; Carries out the steps that the header names.
  (func $carry_out (param $which i32)
    (local $at i32) (local $end i32) (local $times i32)
    (local.set $which (i32.add (global.get $header) (local.get $which)))
    (local.set $at (i32.add (global.get $parts) (i32.load (local.get $which))))
    (local.set $end (i32.add (global.get $parts) (i32.load offset=4 (local.get $which))))
    (block $over
      (loop $each
        (br_if $over (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $times (i32.const 1))
        (if (i32.eq (i32.load (local.get $at)) (i32.const 20)) (then
          (local.set $times (i32.load offset=4 (local.get $at)))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))))
        (block $enough
          (loop $again
            (br_if $enough (i32.eqz (local.get $times)))
            (call $step (local.get $at))
            (local.set $times (i32.sub (local.get $times) (i32.const 1)))
            (br $again)))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br $each))))

  (func $step (param $at i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local.set $a (i32.load offset=4 (local.get $at)))
    (local.set $b (i32.load offset=8 (local.get $at)))
    (local.set $c (i32.load offset=12 (local.get $at)))
    (local.set $d (i32.load offset=16 (local.get $at)))
    (block $24 (block $23 (block $22 (block $21 (block $20
    (block $19 (block $18 (block $17 (block $16 (block $15
    (block $14 (block $13 (block $12 (block $11 (block $10
    (block $9 (block $8 (block $7 (block $6 (block $5
    (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 $13 $14 $15 $16 $17 $18 $19 $20 $21 $22
        $23 $24 (i32.load (local.get $at))))
      ;; 0
      (call $start (local.get $a) (local.get $b) (local.get $c) (local.get $d)
        (i32.load offset=20 (local.get $at)))
      (return))
      ;; 1
      (call $sleep (local.get $a) (f64.load offset=8 (local.get $at)))
      (return))
      ;; 2
      (call $drop (local.get $a))
      (return))
      ;; 3
      (call $log (local.get $a) (local.get $b) (local.get $c) (local.get $d))
      (return))
      ;; 4
      (call $update (local.get $a) (local.get $b))
      (return))
      ;; 5
      (call $done (local.get $a) (local.get $b) (local.get $c))
      (return))
      ;; 6
      (i64.store (local.get $a) (call $entropy))
      (return))
      ;; 7
      (i32.store (local.get $c) (call $clock (local.get $a) (local.get $b)))
      (return))
      ;; 8
      (i32.store (local.get $c) (call $random (local.get $a) (local.get $b)))
      (return))
      ;; 9
      (drop (call $pure (local.get $a) (local.get $b) (local.get $c) (local.get $d)))
      (return))
      ;; 10
      (call $reply (local.get $a))
      (return))
      ;; 11
      (i32.store (local.get $b) (memory.grow (local.get $a)))
      (return))
      ;; 12
      (i32.store (local.get $b) (table.grow $table (ref.null func) (local.get $a)))
      (return))
      ;; 13
      (loop $for_ever (br $for_ever)))
      ;; 14
      (unreachable))
      ;; 15
      (i32.store (local.get $a) (local.get $b))
      (return))
      ;; 16: forget everything but the code
      (memory.fill (local.get $a) (local.get $c) (local.get $b))
      (return))
      ;; 17
      (global.set $place (local.get $a))
      (return))
      ;; 18: count down
      (loop $down
        (local.set $a (i32.sub (local.get $a) (i32.const 1)))
        (br_if $down (i32.gt_s (local.get $a) (i32.const 0))))
      (return))
      ;; 19: what state there is, as four numbers
      (i32.store (local.get $a) (global.get $kept))
      (i32.store offset=4 (local.get $a) (table.size $table))
      (i32.store offset=8 (local.get $a) (memory.size))
      (i32.store offset=12 (local.get $a) (global.get $stack))
      (global.set $kept (i32.const 77))
      (return))
      ;; 20 is taken by `repeat`
      (return))
      ;; 21: log what was settled
      (call $log (i32.const 16) (i32.const 4) (global.get $json) (global.get $json_length))
      (return))
      ;; 22: answer with what was settled, when it is of this number
      (if (i32.eq (global.get $id) (local.get $a)) (then
        (call $done (i32.const 1) (global.get $json) (global.get $json_length))))
      (return))
      ;; 23: log the number of what was settled
      (i32.store (i32.const 1000) (global.get $id))
      (call $log (i32.const 16) (i32.const 4) (i32.const 1000) (i32.const 1))
      (return))
    ;; 24 and above: recurse without end
    (call $step (local.get $at))
    (call $step (local.get $at))))
