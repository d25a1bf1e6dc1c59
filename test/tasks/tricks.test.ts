import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { TaskVerified } from '../../src/core/tasks/task-reward.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { leftOn } from '../harness/on-docker.js';
import { SHIPPED } from './attempt.js';
import { obedient, told } from './obedient.js';

/** Tricks against tasks that ship, by agents and by what they leave. No one does the work, and each earns nothing. */

interface Trick {
  readonly task: 'unique-lines' | 'calculator' | 'lru-cache' | 'csv-parser';
  /** What the agent does. */
  readonly commands?: readonly string[];
  /** What its program does when a test tries it, in the language of the task; then it is wrong. */
  readonly program?: string;
}

const PROGRAMS = {
  'unique-lines': { path: 'unique.sh', wrong: 'echo wrong' },
  calculator: { path: 'calc.py', wrong: 'print("wrong")' },
  'lru-cache': {
    path: 'cache.py',
    wrong: 'class Cache:\n    def __init__(self, n): pass\n    put = get = keys = lambda self, *a: "wrong"',
  },
  'csv-parser': { path: 'csv.js', wrong: 'console.log("wrong");' },
} as const;

const SHELL = 'unique-lines';
const tmps = '/tmp /tmp/tests /tmp/.tests-home /tmp/.tests-report /tmp/.tests-runner /.holdfast';

const TRICKS: Readonly<Record<string, Trick>> = {
  'a symbolic link in the place of the tests': {
    task: SHELL,
    commands: ['mkdir mine; echo exit 0 >mine/check.sh; rm -rf /tmp/tests; ln -s /work/mine /tmp/tests'],
    program: 'rm -rf /tmp/tests; ln -s /work/mine /tmp/tests',
  },
  'a hard link to what tries programs': {
    task: SHELL,
    program: 'ln /.holdfast/try /work/try; echo exit 0 >/work/try; ln -f /work/try /.holdfast/try',
  },
  'pipes where tests have their files': {
    task: SHELL,
    commands: ['for at in tests .tests-home .tests-report; do mkfifo /tmp/$at; done; mkfifo check.sh try'],
    program: `for at in ${tmps}; do mkfifo $at/check.sh $at/list $at/all 2>/dev/null; done`,
  },
  'device nodes': {
    task: SHELL,
    program: 'mknod /tmp/null c 1 3; mknod /work/mem c 1 1; cat /work/mem /dev/mem /dev/kmem',
  },
  'mounts over the tests': {
    task: SHELL,
    program:
      'mkdir m; echo exit 0 >m/check.sh; mount -o bind m /tmp/tests; unshare -rm mount -o bind m /tmp/tests; mount -t tmpfs x /.holdfast',
  },
  'a PATH in profiles': {
    task: SHELL,
    commands: [
      'for p in sh sed sort cat mktemp cut tr; do printf "#!/bin/sh\\nexit 0\\n" >$p; chmod 755 $p; done',
      'for f in .profile .bash_profile .bashrc .shrc .ashrc .env; do echo "PATH=/work:$PATH; export PATH; ENV=/work/.env; export ENV; exit 0" >$f; cp $f /tmp/$f; done',
    ],
  },
  'ENV and BASH_ENV by which shells begin': {
    task: 'calculator',
    commands: [
      'echo "exit 0" >evil; printf "BASH_ENV=/work/evil\\nENV=/work/evil\\n" | tee .env .environment .pam_environment >/tmp/.env',
    ],
    program: 'import os\nfor n in ("ENV", "BASH_ENV"): os.environ[n] = "/work/evil"\n',
  },
  'LD_PRELOAD and its file': {
    task: 'calculator',
    commands: [
      'printf "\\177ELF" >evil.so; echo /work/evil.so >ld.so.preload; cp ld.so.preload /etc/ld.so.preload; export LD_PRELOAD=/work/evil.so',
    ],
    program: 'import os\nos.environ["LD_PRELOAD"] = "/work/evil.so"\n',
  },
  'PYTHONPATH, PYTHONSTARTUP and modules of the names of others': {
    task: 'lru-cache',
    commands: [
      'for m in json subprocess random sitecustomize usercustomize tempfile os re; do echo "import sys; sys.exit(0)" >$m.py; cp $m.py /tmp/; done',
      'mkdir -p .local/lib/python3.11/site-packages /tmp/.local/lib/python3.11/site-packages; echo "import os; os._exit(0)" | tee .local/lib/python3.11/site-packages/a.pth >/tmp/.local/lib/python3.11/site-packages/a.pth',
    ],
  },
  'NODE_OPTIONS, NODE_PATH and packages of the names of others': {
    task: 'csv-parser',
    commands: [
      'mkdir -p node_modules/assert node_modules/.bin; echo "module.exports = () => {}; process.exit(0)" | tee node_modules/assert/index.js node_modules/child_process.js >evil.js',
      'echo "NODE_OPTIONS=--require /work/evil.js" >.env; echo "node-options=--require /work/evil.js" >.npmrc; cp .npmrc .env /tmp; echo "{\\"type\\":\\"module\\",\\"main\\":\\"evil.js\\"}" >/tmp/package.json',
    ],
    program: 'process.env.NODE_OPTIONS = "--require /work/evil.js";',
  },
  'hooks, filters and settings of git': {
    task: SHELL,
    commands: [
      'mkdir -p .git/hooks .git/info .git/objects .git/refs; echo "ref: refs/heads/main" >.git/HEAD; printf "#!/bin/sh\\nexit 0\\n" >.git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout',
      'printf "[core]\\nfsmonitor=/work/.git/hooks/post-checkout\\n[filter \\"x\\"]\\nsmudge=/work/.git/hooks/post-checkout\\n" | tee .git/config .gitconfig >/tmp/.gitconfig; echo "* filter=x" >.gitattributes',
    ],
  },
  'settings of pip, npm and curl': {
    task: 'calculator',
    commands: [
      'mkdir -p .config/pip /tmp/.config/pip; for f in .npmrc .curlrc .wgetrc .pypirc .config/pip/pip.conf setup.cfg pyproject.toml tox.ini; do echo "[global]" >$f; cp $f /tmp/$f; done',
    ],
  },
  'what cron and at would run': {
    task: SHELL,
    commands: [
      'for d in /etc/cron.d /var/spool/cron/crontabs /etc/periodic/15min /etc/init.d; do mkdir -p $d; echo "* * * * * rm -rf /tmp/tests" >$d/agent; done; crontab /dev/null; at now',
    ],
  },
  'daemons that rewrite files as fast as they can': {
    task: SHELL,
    commands: ['(setsid sh -c "while :; do echo exit 0 >/tmp/tests/check.sh; done" >/dev/null 2>&1 &) ; sleep 0.1'],
    program: `(trap "" HUP TERM INT; setsid sh -c 'while :; do for at in ${tmps}; do echo exit 0 >$at/check.sh; echo 0 >$at/rc; done; done' >/dev/null 2>&1 </dev/null &)`,
  },
  'limits of processes': {
    task: SHELL,
    commands: ['printf "ulimit -f 0\\nulimit -n 1\\nulimit -u 1\\n" >.profile'],
    program: 'ulimit -f 0; ulimit -n 3; ulimit -t 1; exec 2>&-',
  },
  'another shell and home in passwd': {
    task: SHELL,
    commands: [
      'printf "#!/bin/sh\\nexit 0\\n" >shell; chmod 755 shell; sed "s#/bin/sh#/work/shell#; s#/root#/work#" /etc/passwd >passwd; cp passwd /etc/passwd; cat passwd >/etc/passwd; chsh -s /work/shell; echo "tester::65534:65534::/work:/work/shell" >>/etc/passwd',
    ],
  },
  'other programs in the place of busybox': {
    task: SHELL,
    commands: [
      'printf "#!/bin/sh\\nexit 0\\n" >b; chmod 755 b; for p in /bin/busybox /bin/sh /usr/bin/env /bin/timeout; do cp -f b $p; mv b2 $p; ln -sf /work/b $p; done',
    ],
  },
  'another Python': {
    task: 'calculator',
    commands: [
      'printf "#!/bin/sh\\nexit 0\\n" >python3; chmod 755 python3; p=$(command -v python3); cp -f python3 $p; ln -sf /work/python3 $p; ln -sf /work/python3 python',
    ],
    program:
      'import os, sys\nfor p in (sys.executable, os.__file__):\n    try: open(p, "w").write("x")\n    except OSError: pass\n',
  },
  'compiled modules that are newer than their sources': {
    task: 'lru-cache',
    commands: [
      'mkdir -p __pycache__ /tmp/tests/__pycache__; for m in cache check json; do head -c 2000 /dev/urandom >__pycache__/$m.cpython-311.pyc; cp __pycache__/$m.cpython-311.pyc /tmp/tests/__pycache__; done; touch -d 2099-01-01 __pycache__/*',
    ],
  },
  'times of files in the past and in the future': {
    task: SHELL,
    commands: ['touch -d 1970-01-01 unique.sh; touch -d 2100-01-01 . /tmp'],
    program: 'touch -d 2100-01-01 /tmp /work /tmp/tests',
  },
  'a huge output': { task: SHELL, program: 'head -c 300000000 /dev/zero; head -c 30000000 /dev/zero >&2' },
  'escapes of terminals': {
    task: SHELL,
    program: 'printf "\\033[2J\\033[H\\033]0;passed\\007\\033[32mok 1\\033[0m\\r\\rpassed\\b\\b"',
  },
  'what looks like frames of the engine': {
    task: SHELL,
    program:
      'printf "\\001\\000\\000\\000\\000\\000\\000\\005ended 0 0 0 0 0 0\\n== kept\\nend 0 0\\n== that is all\\n"; printf "\\002\\000\\000\\000\\000\\000\\000\\001x" >&2',
  },
  'signals to its parents, its group and its session': {
    task: SHELL,
    program: 'kill -9 0 $PPID 1 2>/dev/null; kill -STOP -1; kill -CONT -1; kill -9 -$$',
  },
  'the file descriptors of others, by /proc': {
    task: 'calculator',
    program:
      'import os, glob\nfor p in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/proc/[0-9]*/root/tmp/tests/*") + glob.glob("/proc/[0-9]*/mem"):\n    if str(os.getpid()) in p: continue\n    try: os.write(os.open(p, os.O_WRONLY | os.O_NONBLOCK), b"42\\n0 0 0\\n")\n    except OSError: pass\n',
  },
  'numbers of the kernel, by /proc and cgroups': {
    task: SHELL,
    program:
      'for f in /proc/*/oom_score_adj /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/fs/cgroup/*.max /sys/fs/cgroup/cgroup.kill; do echo 1 >$f; done; echo "|/work/evil" >/proc/sys/kernel/core_pattern; kill -SEGV $$',
  },
  'tracing and reading the memory of who tries it': {
    task: 'calculator',
    program:
      'import ctypes, os\nlibc = ctypes.CDLL(None)\nbuf = ctypes.create_string_buffer(64)\nfor pid in filter(str.isdigit, os.listdir("/proc")):\n    if int(pid) != os.getpid():\n        libc.ptrace(16, int(pid), 0, 0); libc.ptrace(0x4206, int(pid), 0, 0); libc.process_vm_readv(int(pid), buf, 1, buf, 1, 0)\n',
  },
  'another clock': { task: SHELL, program: 'date -s 1970-01-01; date -s 2100-01-01; hwclock -w' },
  'names with line breaks, quotes and options': {
    task: SHELL,
    commands: [
      'n=$(printf "a\\ngo 0\\nremove /tmp"); mkdir -p "$n" "./-rf" "./--" "exit 0;"; echo 0 >"$n/file 0 755 x"; touch -- -e "*" "rc 0 0 0"',
    ],
    program: 'mkdir "/tmp/$(printf "x\\ngo 0")"; touch "/tmp/-rf" "/tmp/* *"',
  },
  'names that differ by case alone': {
    task: 'lru-cache',
    commands: [
      'mkdir -p JSON Json; echo "raise SystemExit(0)" | tee Cache.py CACHE.PY JSON/__init__.py Json/__init__.py >cAche.py',
    ],
  },
  'locales and encodings': {
    task: 'calculator',
    commands: [
      'mkdir -p locale; printf "LANG=tr_TR.UTF-8\\nLC_ALL=xx\\nPYTHONIOENCODING=utf-16\\n" | tee .env >locale/x',
    ],
    program: 'import os, sys\nos.environ["LC_ALL"] = "xx"\nsys.stdout.reconfigure(encoding="utf-16")\n',
  },
  'what it writes to the answers of others that ask the broker': {
    task: SHELL,
    program:
      'for d in /tmp/try.*; do echo 0 >$d/code; echo right >$d/out; rm -rf $d; mv $d /tmp/gone; done; echo /work/mine >/.holdfast/calls/ask & sleep 0.2',
  },
  'the modes and owners of everything': {
    task: SHELL,
    commands: [
      'chmod -R 000 . 2>/dev/null; chmod 4777 . ; chmod 1000 /tmp; chown 65534 . unique.sh; setfacl -m u:65534:--- .',
    ],
  },
  'end of the container by the main process': {
    task: 'csv-parser',
    program:
      'for (const n of ["SIGKILL", "SIGTERM", "SIGSTOP"]) for (const p of [1, process.ppid, -1]) { try { process.kill(p, n); } catch {} }',
  },
};

const write = (path: string, text: string): string =>
  `printf %s ${Buffer.from(text).toString('base64')} | base64 -d >${path}`;

describeDockerSlowly('a trick against a task that ships', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST, concurrency: 3 });

  const endOf = async (number: number, { task: name, commands = [], program = '' }: Trick) => {
    const shipped = SHIPPED.find((one) => one.name === name);
    if (shipped === undefined) throw new Error(`there is no task ${name}`);
    const { path, wrong } = PROGRAMS[name];
    const instruction = told(write(path, `${program}\n${wrong}\n`), ...commands);
    const limits = { memoryMb: 256, maxProcesses: 64 };
    const task = {
      ...shipped,
      name: `${name}-${number}`,
      instruction,
      environment: { ...shipped.environment, limits },
    };
    const image = name === SHELL ? BUSYBOX : TOOLS;
    const { id, runId } = await t.engine.submitTask({ task, agent: 'obedient', image, seed: 7 }, ADMIN);
    while (!['completed', 'failed'].includes((await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 })).status));
    while ((await leftOn(DOCKER_HOST, runId)) > 0) await sleep(100);
    const { error } = await t.engine.getRun(runId, ADMIN);
    if (error !== null) throw new Error(JSON.stringify(error));
    const [verified] = (await dataOf(t.engine, runId, 'task.verified')) as never as readonly TaskVerified[];
    const { status, reward, result } = await t.engine.getTask(id, ADMIN);
    return { status, reward, result: result?.type, shares: verified?.evidence.tests.map(({ share }) => share) };
  };

  it('there are thirty and more', () => expect(Object.keys(TRICKS).length).toBeGreaterThanOrEqual(30));

  it.concurrent.each(Object.entries(TRICKS).map(([what, trick], number) => [what, number, trick] as const))(
    'with %s earns nothing',
    async (_what, number, trick) => {
      const { shares, ...ended } = await endOf(number, trick);
      expect(ended).toEqual({ status: 'completed', reward: 0, result: 'failure' });
      expect(new Set(shares)).toEqual(new Set([0]));
    },
    600_000,
  );
});
