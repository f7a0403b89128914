;; The adapter between Go's wasip1 and the component model.
;;
;; It replaces the official one, which traps when Go collects garbage within cabi_realloc: Go then
;; reads the monotonic clock and polls, and a component may not call the host there. So both are
;; answered here, without the host: the monotonic clock counts its readings, and sleep returns at
;; once and advances it. Output goes to the host's log, the time and random come from the host.
;;
;; What is absent: files, sockets and environment variables (ENOSYS).
(module
  (import "env" "memory" (memory 0))
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $get_stdout (result i32)))
  (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $get_stderr (result i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
    (func $write (param i32 i32 i32 i32)))
  (import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))
  (import "wasi:clocks/wall-clock@0.2.0" "now" (func $now (param i32)))
  (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))

  ;; Nanoseconds of the monotonic clock: 13 days, so that it is later than all that init functions
  ;; have read when the component was built.
  (global $monotonic (mut i64) (i64.const 0x4000000000000))
  ;; The streams, or -1 before the first output.
  (global $stdout (mut i32) (i32.const -1))
  (global $stderr (mut i32) (i32.const -1))

  ;; One argument, the name of the program: some packages index os.Args[0].
  (func (export "args_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 1))
    (i32.store (local.get $size) (i32.const 7))
    (i32.const 0))
  (func (export "args_get") (param $pointers i32) (param $texts i32) (result i32)
    (i32.store (local.get $pointers) (local.get $texts))
    ;; "plugin" and a zero, in two stores that overlap.
    (i32.store align=1 (local.get $texts) (i32.const 0x67756c70))
    (i32.store offset=3 align=1 (local.get $texts) (i32.const 0x006e6967))
    (i32.const 0))
  (func (export "environ_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $size) (i32.const 0))
    (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))

  (func (export "clock_res_get") (param $clock i32) (param $result i32) (result i32)
    (i64.store (local.get $result) (i64.const 1000))
    (i32.const 0))
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $result i32) (result i32)
    (local $behind i64)
    (if (local.get $clock)
      (then
        (global.set $monotonic (i64.add (global.get $monotonic) (i64.const 1000)))
        (i64.store (local.get $result) (global.get $monotonic)))
      (else
        ;; A datetime is larger than the result: what is behind it is put back.
        (local.set $behind (i64.load offset=8 (local.get $result)))
        (call $now (local.get $result))
        (i64.store (local.get $result)
          (i64.add
            (i64.mul (i64.load (local.get $result)) (i64.const 1000000000))
            (i64.load32_u offset=8 (local.get $result))))
        (i64.store offset=8 (local.get $result) (local.get $behind))))
    (i32.const 0))

  (func (export "random_get") (param $at i32) (param $length i32) (result i32)
    (local $value i64) (local $bits i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (if (i32.eqz (local.get $bits))
          (then
            (local.set $value (call $random))
            (local.set $bits (i32.const 64))))
        (i64.store8 (local.get $at) (local.get $value))
        (local.set $value (i64.shr_u (local.get $value) (i64.const 8)))
        (local.set $bits (i32.sub (local.get $bits) (i32.const 8)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; All subscriptions are ready: nothing blocks, and clocks advance to their time.
  (func (export "poll_oneoff") (param $in i32) (param $out i32) (param $count i32) (param $ready i32) (result i32)
    (local $time i64)
    (i32.store (local.get $ready) (local.get $count))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (memory.fill (local.get $out) (i32.const 0) (i32.const 32))
        (i64.store (local.get $out) (i64.load (local.get $in)))
        (i32.store8 offset=10 (local.get $out) (i32.load8_u offset=8 (local.get $in)))
        (if (i32.eqz (i32.load8_u offset=8 (local.get $in)))
          (then
            (local.set $time (i64.load offset=24 (local.get $in)))
            ;; Without the flag, the time is relative.
            (if (i32.eqz (i32.and (i32.load16_u offset=40 (local.get $in)) (i32.const 1)))
              (then (local.set $time (i64.add (local.get $time) (global.get $monotonic)))))
            (if (i64.gt_u (local.get $time) (global.get $monotonic))
              (then (global.set $monotonic (local.get $time))))))
        (local.set $in (i32.add (local.get $in) (i32.const 48)))
        (local.set $out (i32.add (local.get $out) (i32.const 32)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))
  (func (export "proc_exit") (param $code i32)
    (call $exit (i32.ne (local.get $code) (i32.const 0)))
    unreachable)

  (func $stream (param $fd i32) (result i32)
    (if (i32.eq (local.get $fd) (i32.const 1))
      (then
        (if (i32.eq (global.get $stdout) (i32.const -1)) (then (global.set $stdout (call $get_stdout))))
        (return (global.get $stdout))))
    (if (i32.eq (global.get $stderr) (i32.const -1)) (then (global.set $stderr (call $get_stderr))))
    (global.get $stderr))
  ;; Writes at most 4 KiB at once, as a stream accepts it.
  (func (export "fd_write") (param $fd i32) (param $vectors i32) (param $count i32) (param $written i32) (result i32)
    (local $vector i32) (local $at i32) (local $length i32) (local $part i32) (local $total i32)
    (local $kept i64) (local $kept_end i32)
    (if (i32.and (i32.ne (local.get $fd) (i32.const 1)) (i32.ne (local.get $fd) (i32.const 2)))
      (then (return (i32.const 8))))
    (local.set $vector (local.get $vectors))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $at (i32.load (local.get $vector)))
        (local.set $length (i32.load offset=4 (local.get $vector)))
        (block $end
          (loop $more
            (br_if $end (i32.eqz (local.get $length)))
            (local.set $part (select (local.get $length) (i32.const 4096) (i32.lt_u (local.get $length) (i32.const 4096))))
            ;; The result takes 12 bytes, where the vector is: they are put back.
            (local.set $kept (i64.load align=4 (local.get $vector)))
            (local.set $kept_end (i32.load offset=8 (local.get $vector)))
            (call $write (call $stream (local.get $fd)) (local.get $at) (local.get $part) (local.get $vector))
            (i64.store align=4 (local.get $vector) (local.get $kept))
            (i32.store offset=8 (local.get $vector) (local.get $kept_end))
            (local.set $at (i32.add (local.get $at) (local.get $part)))
            (local.set $length (i32.sub (local.get $length) (local.get $part)))
            (local.set $total (i32.add (local.get $total) (local.get $part)))
            (br $more)))
        (local.set $vector (i32.add (local.get $vector) (i32.const 8)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $written) (local.get $total))
    (i32.const 0))

  ;; The standard streams are character devices.
  (func (export "fd_fdstat_get") (param $fd i32) (param $result i32) (result i32)
    (if (i32.gt_u (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
    (memory.fill (local.get $result) (i32.const 0) (i32.const 24))
    (i32.store8 (local.get $result) (i32.const 2))
    (i64.store offset=8 (local.get $result) (i64.const 66))
    (i32.const 0))
  (func (export "fd_fdstat_set_flags") (param $fd i32) (param $flags i32) (result i32) (i32.const 0))
  ;; There are no preopened folders: EBADF ends the search.
  (func (export "fd_prestat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_prestat_dir_name") (param i32 i32 i32) (result i32) (i32.const 8))
  (func (export "fd_close") (param i32) (result i32) (i32.const 8))
  ;; Standard input is at its end.
  (func (export "fd_read") (param $fd i32) (param $vectors i32) (param $count i32) (param $read i32) (result i32)
    (i32.store (local.get $read) (i32.const 0))
    (i32.const 0))

  ;; The rest: ENOSYS.
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_datasync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_get") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 52))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_pread") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_pwrite") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 52))
  (func (export "fd_renumber") (param i32 i32) (result i32) (i32.const 52))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "fd_sync") (param i32) (result i32) (i32.const 52))
  (func (export "fd_tell") (param i32 i32) (result i32) (i32.const 52))
  (func (export "path_create_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_get") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 52))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 52))
  (func (export "path_readlink") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_remove_directory") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_rename") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_symlink") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "path_unlink_file") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "proc_raise") (param i32) (result i32) (i32.const 52))
  (func (export "sock_accept") (param i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_recv") (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_send") (param i32 i32 i32 i32 i32) (result i32) (i32.const 52))
  (func (export "sock_shutdown") (param i32 i32) (result i32) (i32.const 52)))
