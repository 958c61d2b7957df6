//! What scripts do with the programs that people install.

use super::probe::{Probe, all, with};

#[test]
fn scripts_use_git() {
    all("/bin/sh", "sh", GIT);
}

#[test]
fn scripts_use_installed_tools() {
    all("/bin/sh", "sh", TOOLS);
}

#[test]
fn scripts_in_perl_run() {
    all("/usr/bin/perl", "pl", PERL);
}

const GIT: &[Probe] = &[
    with(
        &["/usr/bin/git"],
        "a repository, its history and a clone",
        "cd out && git init -q r && cd r && echo one > f && git add f && git commit -qm first && \
         git log --format=%an:%s && echo two >> f && git diff --stat | tail -1 && git commit -qam second && \
         git log --oneline | wc -l && git show --format=%s --name-only | tail -1 && git clone -q . ../c && \
         git -C ../c log -1 --format=%s && git status --short | wc -l",
        "skill:first\n 1 file changed, 1 insertion(+)\n2\nf\nsecond\n0\n",
    ),
    with(
        &["/usr/bin/git"],
        "branches, merges and blame",
        "cd /tmp && git init -q -b main r && cd r && echo a > f && git add . && git commit -qm a && git switch -qc side && \
         echo b > g && git add . && git commit -qm b && git switch -q main && git merge -q --no-ff -m merged side && \
         git log --merges --format=%s && git blame -s f | cut -d' ' -f2- && git stash list && git gc -q && git fsck 2>/dev/null && \
         git rev-parse --abbrev-ref HEAD && git grep -l b && git archive HEAD | tar t",
        "merged\n1) a\nmain\ng\nf\ng\n",
    ),
    with(
        &["/usr/bin/git"],
        "a file outside any repository",
        "cd out && echo a > a && echo b > b && git diff --no-index a b | tail -1; git hash-object a",
        "+b\n78981922613b2afb6025042ff6bd878ac1994e85\n",
    ),
];

const TOOLS: &[Probe] = &[
    with(
        &["/usr/bin/jq"],
        "jq",
        "echo '{\"a\":[1,2,{\"b\":\"c\"}]}' | jq -c '.a[2], (.a | length)'; jq -n '[range(4)] | add'",
        "{\"b\":\"c\"}\n3\n6\n",
    ),
    with(
        &["/usr/bin/zip", "/usr/bin/unzip"],
        "zip there and back",
        "cd out && mkdir d && echo x > d/f && zip -qr a.zip d && unzip -qd e a.zip && cat e/d/f && unzip -l a.zip | tail -1 | awk '{print $2}'",
        "x\n2\n",
    ),
    with(
        &["/usr/bin/xz", "/usr/bin/bzip2", "/usr/bin/zstd"],
        "xz, bzip2 and zstd there and back",
        "cd out && seq 1000 > f && xz -k f && xz -T2 -dc f.xz | cmp - f && bzip2 -k f && bzcat f.bz2 | cmp - f && \
         zstd -q f && zstd -qdc f.zst | cmp - f && tar cJf t.tar.xz f && tar tf t.tar.xz && tar cjf t.tar.bz2 f && tar tf t.tar.bz2",
        "f\nf\n",
    ),
    with(
        &["/usr/bin/ps"],
        "its own processes",
        "sleep 5 & ps -o comm= -p $!; ps -e -o args= | grep -c '[s]leep 5'; kill $!; wait $! 2>/dev/null; echo $?",
        "sleep\n1\n143\n",
    ),
    with(
        &["/usr/bin/make"],
        "make, in parallel",
        "printf 'all: a b\\na b:\\n\\t@echo x > out/$@\\n' > /tmp/Makefile; make -s -j2 -f /tmp/Makefile && cat out/a out/b",
        "x\nx\n",
    ),
    with(
        &["/usr/bin/sqlite3"],
        "a database",
        "sqlite3 out/d.db 'create table t(x); insert into t values(1),(2); pragma journal_mode=wal; insert into t values(3)' && \
         sqlite3 out/d.db 'select sum(x) from t'",
        "wal\n6\n",
    ),
    with(
        &[
            "/usr/bin/bc",
            "/usr/bin/xxd",
            "/usr/bin/patch",
            "/usr/bin/file",
        ],
        "bc, xxd, patch and file",
        "echo 'scale=2; 10/4' | bc; printf AB | xxd -p; cd out; echo a > f; printf -- '--- f\\n+++ f\\n@@ -1 +1 @@\\n-a\\n+b\\n' | patch -s f && cat f; \
         file -b f",
        "2.50\n4142\nb\nASCII text\n",
    ),
];

const PERL: &[Probe] = &[
    with(
        &[],
        "processes, files and modules",
        "use strict; use File::Temp qw(tempfile); use POSIX qw(strftime); use List::Util qw(sum); use Time::HiRes qw(usleep);\n\
         my ($h, $n) = tempfile(); print $h \"x\\n\"; close $h; open my $f, '<', $n or die; print <$f>; unlink $n;\n\
         print sum(1..4), ' ', strftime('%F', gmtime 0), ' ', `echo sub`; usleep 100;\n\
         my $pid = fork // die; exit 3 unless $pid; waitpid $pid, 0; print $? >> 8, \"\\n\";\n\
         open my $p, '-|', 'echo', 'piped' or die; print <$p>; print scalar getpwuid($<), \"\\n\"; system 'true'; print \"$?\\n\";\n",
        "x\n10 1970-01-01 sub\n3\npiped\nskill\n0\n",
    ),
    with(
        &[],
        "text and signals",
        "local $SIG{ALRM} = sub { print \"rang\\n\" }; use Time::HiRes; Time::HiRes::alarm(0.02); select undef, undef, undef, 3; local $SIG{USR1} = sub { print \"sent\\n\" };\n\
         kill USR1 => $$; my %c; $c{$_}++ for split //, 'abca'; print join(',', map { \"$_$c{$_}\" } sort keys %c), \"\\n\";\n",
        "rang\nsent\na2,b1,c1\n",
    ),
];
