//! What shell scripts do: the shells themselves, and the programs that every machine has.

use super::probe::{Probe, all, probe};

#[test]
fn shell_scripts_use_the_shell() {
    all("/bin/sh", "sh", SHELL);
}

#[test]
fn shell_scripts_use_bash() {
    all("/bin/bash", "sh", BASH);
}

#[test]
fn shell_scripts_use_coreutils() {
    all("/bin/sh", "sh", COREUTILS);
}

#[test]
fn shell_scripts_use_text_tools_and_look_around() {
    all("/bin/sh", "sh", TOOLS);
}

const SHELL: &[Probe] = &[
    probe("arithmetic", "echo $((6 * 7))", "42\n"),
    probe(
        "a pipeline",
        "printf 'b\\na\\nb\\n' | sort | uniq -c | awk '{print $1 $2}' | tr a-z A-Z",
        "1A\n2B\n",
    ),
    probe(
        "a here-document",
        "x=here; cat <<END\n$x\n\tis it\nEND\n",
        "here\n\tis it\n",
    ),
    probe(
        "the standard devices",
        "echo lost > /dev/null; echo e > /dev/stderr; echo o > /dev/stdout; echo i | cat /dev/stdin",
        "o\ni\n",
    ),
    probe(
        "background jobs",
        "(exit 3) & wait $!; echo $?; sleep 0.01 & wait; echo done",
        "3\ndone\n",
    ),
    probe(
        "a trap",
        "trap 'echo caught' USR1; kill -USR1 $$; trap 'echo bye' EXIT; echo end",
        "caught\nend\nbye\n",
    ),
    probe(
        "a subshell in a pipeline with its own folder",
        "(cd out && echo x > f); cat out/f; pwd",
        "x\n/skill\n",
    ),
    probe(
        "its umask",
        "umask 077; touch out/f; stat -c %a out/f",
        "600\n",
    ),
    probe(
        "a command found by name",
        "command -v cat; type cd",
        "/usr/bin/cat\ncd is a shell builtin\n",
    ),
    probe(
        "reading lines",
        "printf 'a b\\nc d\\n' | while read -r one two; do echo \"$two $one\"; done",
        "b a\nd c\n",
    ),
    probe(
        "a function library beside it",
        "echo 'greet() { echo \"hello $1\"; }' > out/lib.sh; . out/lib.sh; greet world",
        "hello world\n",
    ),
    probe(
        "redirections of every kind",
        "exec 3> out/log; echo one >&3; echo two >> out/log; exec 3>&-; cat < out/log; ls nothing 2>&1 | wc -l",
        "one\ntwo\n1\n",
    ),
    probe(
        "its limits",
        "test \"$(ulimit -n)\" -ge 64 && ulimit -n 32 && ulimit -n",
        "32\n",
    ),
];

const BASH: &[Probe] = &[
    probe(
        "process substitution",
        "diff <(printf 'a\\nb\\n') <(printf 'a\\nc\\n'); cat < <(echo in); echo x > >(cat); wait $!",
        "2c2\n< b\n---\n> c\nin\nx\n",
    ),
    probe(
        "arrays",
        "a=(one two three); declare -A m=([k]=v); echo ${#a[@]} ${a[-1]} ${m[k]}",
        "3 three v\n",
    ),
    probe("a here-string", "tr a-z A-Z <<< shout", "SHOUT\n"),
    probe(
        "standard error by its path",
        "echo e > /dev/stderr; echo o > /dev/stdout; echo f > /dev/fd/1",
        "o\nf\n",
    ),
    probe(
        "a co-process",
        "coproc cat; echo ping >&${COPROC[1]}; read -r -u ${COPROC[0]} answer; echo $answer",
        "ping\n",
    ),
    probe(
        "mapfile and sorting",
        "mapfile -t lines < <(seq 3 | sort -r); echo ${lines[*]}",
        "3 2 1\n",
    ),
    probe(
        "pipefail and traps",
        "set -euo pipefail; trap 'echo line $LINENO' ERR; if ! false | true; then echo failed; fi",
        "failed\n",
    ),
    probe(
        "waiting for any of several",
        "for i in 1 2 3; do (exit 0) & done; wait -n && wait && echo all",
        "all\n",
    ),
    probe(
        "a read that gives up",
        "read -t 0.01 x < <(sleep 1); test $? -gt 128 && echo late",
        "late\n",
    ),
    probe(
        "a descriptor that reads and writes",
        "exec 3<> out/f; echo x >&3; cat out/f; exec 3>&-; exec {n}> out/g; echo y >&$n; cat out/g",
        "x\ny\n",
    ),
    probe(
        "its own path",
        "cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd && [[ $RANDOM && $EPOCHSECONDS -gt 0 ]]",
        "/skill\n",
    ),
    probe(
        "regular expressions",
        "[[ ab12 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[2]}",
        "12\n",
    ),
];

const COREUTILS: &[Probe] = &[
    probe(
        "cp that keeps times and modes",
        "cd out; echo x > a; chmod 640 a; touch -d @1000000000 a; cp -p a b; stat -c '%a %Y' b; \
         cp -a . ../tmp/copy; stat -c '%a %Y' /tmp/copy/a",
        "640 1000000000\n640 1000000000\n",
    ),
    probe(
        "copies of the skill",
        "cp -r /skill/beside.py out/ && cp -p beside.js out/ && ls out",
        "beside.js\nbeside.py\n",
    ),
    probe(
        "moves within and between places",
        "echo x > out/a; mv out/a out/b; mv out/b /tmp/c; mv /tmp/c /dev/shm/d; cat /dev/shm/d; rm /dev/shm/d; \
         mkdir out/m; mv out/m out/n; rmdir out/n; ls out | wc -l",
        "x\n0\n",
    ),
    probe(
        "trees made, listed and removed",
        "mkdir -p out/a/b/c && touch out/a/b/c/f && ls -R out/a | wc -l && ls -la out > /dev/null && rm -rf out/a && ls out",
        "8\n",
    ),
    probe(
        "links of its own",
        "cd out; echo x > a; ln a b; ln -s a c; stat -c %h a; readlink c; cat c; realpath --relative-to=. c",
        "2\na\nx\na\n",
    ),
    probe(
        "install",
        "echo x > out/a; install -m 600 out/a out/b; install -d out/d; stat -c %a out/b out/d",
        "600\n755\n",
    ),
    probe(
        "temporary files",
        "f=$(mktemp) && d=$(mktemp -d) && touch $d/x && rm -r $f $d && echo ok; mktemp -p out t.XXX | wc -c",
        "ok\n10\n",
    ),
    probe(
        "times",
        "touch -d '2001-09-09 01:46:40 UTC' out/a; touch -r out/a out/b; stat -c %Y out/b; \
         date -u -r out/a +%F; date -u -d @0 +%FT%T",
        "1000000000\n2001-09-09\n1970-01-01T00:00:00\n",
    ),
    probe(
        "columns and lines",
        "printf 'a:b:c\\n' | cut -d: -f2; seq 5 | head -2 | tail -1; seq 3 | tac | paste -sd,; \
         printf '1 x\\n' > out/l; printf '1 y\\n' > out/r; join out/l out/r; seq 3 | nl -w1 -s. | tail -1; \
         printf 'a\\nb\\n' > out/l; printf 'b\\nc\\n' > out/r; comm -12 out/l out/r; echo abc | rev; echo abcd | fold -w2",
        "b\n2\n3,2,1\n1 x y\n3.3\nb\ncba\nab\ncd\n",
    ),
    probe(
        "sorting more than fits a buffer",
        "seq 20000 | shuf | sort -n -S 64k -T /tmp --parallel=2 | tail -1; seq 9 | split -l 4 - out/p; ls out | wc -l",
        "20000\n3\n",
    ),
    probe(
        "tee and xargs, also in parallel",
        "echo x | tee out/a out/b; seq 4 | xargs -P 2 -n 1 echo | sort | paste -sd' '; printf 'a\\0b' | xargs -0 -n1 echo",
        "x\n1 2 3 4\na\nb\n",
    ),
    probe(
        "sizes",
        "truncate -s 5000 out/f; stat -c %s out/f; wc -c < out/f; du -sk out | cut -f2; df -k out | wc -l; \
         dd if=/dev/zero of=out/z bs=1k count=3 2>/dev/null; wc -c < out/z",
        "5000\n5000\nout\n2\n3072\n",
    ),
    probe(
        "the environment",
        "env -u PWD -u OLDPWD -u SHLVL -u _ | sort | cut -d= -f1 | paste -sd' '; env -i A=b env; printenv HOME; env -u HOME sh -c 'echo ${HOME-unset}'",
        "HOME LANG PATH TMPDIR\nA=b\n/run/rw/home\nunset\n",
    ),
    probe(
        "sums and encodings",
        "printf abc | sha256sum | cut -c-8; printf abc | md5sum | cut -c-8; printf abc | base64; echo YWJj | base64 -d; \
         echo; printf abc | od -An -tx1",
        "ba7816bf\n90015098\nYWJj\nabc\n 61 62 63\n",
    ),
    probe(
        "other programs with a limit, a priority or no terminal",
        "timeout 5 echo in time; timeout 0.05 sleep 5; echo $?; nice -n 5 echo nice; nohup echo on 2>/dev/null; \
         setsid echo apart; stdbuf -oL echo line",
        "in time\n124\nnice\non\napart\nline\n",
    ),
    probe(
        "numbers and tests",
        "expr 6 \\* 7; test 2 -gt 1 && [ -d out ] && [ -w out ] && [ ! -w beside.py ] && echo yes; seq -w 8 10 | paste -sd' '; \
         printf '%05.1f|%-4s|%x\\n' 3.14159 ab 255; factor 42; numfmt --to=iec 2048",
        "42\nyes\n08 09 10\n003.1|ab  |ff\n42: 2 3 7\n2.0K\n",
    ),
    probe(
        "locks and waiting for data on disk",
        "flock out/lock -c 'echo held'; sync out/lock; echo synced",
        "held\nsynced\n",
    ),
    probe(
        "paths",
        "basename /a/b.txt .txt; dirname /a/b.txt; realpath tmp; pathchk a",
        "b\n/a\n/run/rw/tmp\n",
    ),
];

const TOOLS: &[Probe] = &[
    probe(
        "awk",
        "seq 10 | awk '{ s += $1 } END { print s; print \"e\" > \"/dev/stderr\"; \"echo sub\" | getline x; print x }'",
        "55\nsub\n",
    ),
    probe(
        "sed, also in place",
        "echo abc | sed 's/b/X/'; printf 'one\\ntwo\\n' > out/f; sed -i.old -e 's/two/2/' out/f; cat out/f; ls out",
        "aXc\none\n2\nf\nf.old\n",
    ),
    probe(
        "grep",
        "printf 'alpha\\nbeta\\n' > out/f; grep -n et out/f; grep -rl alpha out; grep -c x out/f; grep -Eo '[ab]l' out/f; \
         grep -q beta out/f && echo found",
        "2:beta\nout/f\n0\nal\nfound\n",
    ),
    probe(
        "find",
        "mkdir -p out/a/b; touch out/a/x.txt out/a/b/y.txt; find out/ -name '*.txt' | sort; \
         find out/ -type f -exec basename {} \\; | sort; find out/ -name x.txt -delete; find out/ -newer out/a/b/y.txt -type f | wc -l; \
         find out/ -type f -print0 | xargs -0 ls",
        "out/a/b/y.txt\nout/a/x.txt\nx.txt\ny.txt\n0\nout/a/b/y.txt\n",
    ),
    probe(
        "diff",
        "echo a > out/a; echo b > out/b; diff -u out/a out/b | tail -2; cmp out/a out/a && echo same",
        "-a\n+b\nsame\n",
    ),
    probe(
        "which",
        "which sh | grep -c /sh; which nothing-of-the-kind || echo none",
        "1\nnone\n",
    ),
    probe(
        "who it is",
        "whoami; id -un; id -gn; test $(id -u) -gt 0 || id -u; getent passwd skill | cut -d: -f1,6; getent group skill | cut -d: -f1; \
         getent hosts localhost | grep -c localhost; hostname; uname -s; echo ~",
        "skill\nskill\nskill\nskill:/run/rw/home\nskill\n1\nskill\nLinux\n/run/rw/home\n",
    ),
    probe(
        "where it is",
        "pwd; readlink -f .; cd ..; ls -d skill; test $(nproc) -ge 1 && getconf PAGESIZE",
        "/skill\n/skill\nskill\n4096\n",
    ),
    probe(
        "tar and gzip",
        "mkdir out/d; echo x > out/d/f; chmod 640 out/d/f; tar -C out -czf out/t.tgz d; tar -tzf out/t.tgz; \
         mkdir out/e; tar -xpzf out/t.tgz -C out/e; cat out/e/d/f; stat -c %a out/e/d/f; gzip -k out/d/f; zcat out/d/f.gz; \
         gunzip -c out/d/f.gz; tar cf - -C out d | tar xf - -C /tmp; cat /tmp/d/f",
        "d/\nd/f\nx\n640\nx\nx\nx\n",
    ),
    probe(
        "the time",
        "test $(date +%s) -gt 1000000000 && TZ=UTC date -d @86400 +%a; sleep 0.01; echo slept",
        "Fri\nslept\n",
    ),
];
