import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TRY_PATH } from '../../src/core/tasks/task-verification.js';
import type { SubmitTask } from '../../src/index.js';
import { DOCKER_HOST, describeDockerSlowly, TOOLS } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { leftOn } from '../harness/on-docker.js';
import { obedient, told } from './obedient.js';
import { ownVersion } from './own-version.js';

/** Programs that attack the test which tries them. Each is wrong, and earns nothing. */

/** A test as docs/tasks/tests.md advises it: what the program printed is judged, and the program is another user's. */
const CHECK = `
import subprocess, sys
numbers = [3, 4, 35]
done = subprocess.run(["${TRY_PATH}", "python3", "add.py"], input="\\n".join(map(str, numbers)), capture_output=True, text=True, timeout=10)
assert done.returncode == 0 and done.stdout.strip() == "42", done
`;
const GRADED = `${CHECK.replace('assert ', 'passed = (').replace(', done\n', ')\n')}
open(sys.argv[1], "w").write("1" if passed else "0")
`;

const python = (text: string): string => `printf %s ${Buffer.from(text).toString('base64')} | base64 -d >add.py`;

/** What the program does, in Python; then it prints what is wrong. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'kills all that it can': 'import os, signal\nos.kill(-1, signal.SIGKILL)',
  'kills its parents, up to the first process': `
import os, signal
pid = os.getpid()
while pid > 1:
    pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    try: os.kill(pid, signal.SIGKILL)
    except OSError: pass`,
  'stops and signals every process that it sees': `
import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    for number in (signal.SIGUSR1, signal.SIGSTOP, signal.SIGCONT):
        try: os.getpid() != int(pid) and os.kill(int(pid), number)
        except OSError: pass`,
  'forges records and the exit code': `
import glob, os
ids = [word for environ in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") for word in (lambda p: open(p, "rb").read().decode("latin1").split("\\0") if os.access(p, os.R_OK) else [])(environ)]
for one in set(glob.glob("/.holdfast/*") + [word for word in ids if "/.holdfast/" in word] + ["/.holdfast/" + word.split("=")[-1] for word in ids if "HOLDFAST" in word]):
    for name in ("rc", "rc.new", "execution", "pid", "out", "before"):
        try: open(f"{one}/{name}", "w").write("0 0 0 0")
        except OSError: pass
        try: os.rename(f"{one}/{name}", f"{one}/gone")
        except OSError: pass`,
  'replaces what tries it': `
import os
for path in ("/.holdfast/try", "/.holdfast/calls/ask", "/tmp/tests", "/tmp/.tests-home"):
    for do in (os.remove, lambda p: os.rename(p, p + "x"), lambda p: open(p, "w").write("#!/bin/sh\\necho 42"), lambda p: os.symlink("/work", p + "y")):
        try: do(path)
        except OSError: pass`,
  'reads the hidden test': `
import os, sys
for path in ("/tmp/tests/check.py", "/proc/%d/cwd/../tmp/tests/check.py" % os.getppid()):
    try: print(eval("sum(" + open(path).read().split("numbers = ")[1].split("]")[0] + "])")); sys.exit()
    except OSError: pass
found = [open("/proc/" + pid + "/" + name, "rb").read() for pid in os.listdir("/proc") if pid.isdigit() for name in ("environ", "mem", "maps") if os.access("/proc/" + pid + "/" + name, os.R_OK) and int(pid) != os.getpid() and b"numbers" in open("/proc/" + pid + "/cmdline", "rb").read()]
if found: print(42); sys.exit()`,
  'writes into the memory of others': `
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("mem", "fd/1", "fd/2", "fd/0"):
        try:
            if int(pid) != os.getpid(): open(f"/proc/{pid}/{name}", "r+b").write(b"42\\n")
        except (OSError, ValueError): pass`,
  'traces its parents': `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in filter(str.isdigit, os.listdir("/proc")):
    libc.ptrace(16, int(pid), 0, 0)`,
  'ends at once as if all were well': 'import os\nos._exit(0)',
  'leaves a daemon behind that rewrites what tests write': `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        while True:
            for path in ("/tmp/reward.txt", "/tmp/rewards/reward.txt", "/tmp/tests/check.py"):
                try: os.remove(path)
                except OSError: pass
                try: open(path, "w").write("1")
                except OSError: pass
    os._exit(0)`,
  'links its own file to where the reward goes': `
import os
open("/work/one", "w").write("1")
for path in ("/tmp/reward.txt", "/tmp/rewards/reward.txt"):
    for do in (lambda: os.remove(path), lambda: os.symlink("/work/one", path), lambda: os.link("/work/one", path)):
        try: do()
        except OSError: pass`,
  'puts a pipe and a link to a number of the kernel where the reward goes': `
import os
for path, make in (("/tmp/rewards/reward.txt", lambda p: os.symlink("/proc/self/oom_score_adj", p)), ("/tmp/reward.txt", lambda p: os.mkfifo(p))):
    try: os.remove(path)
    except OSError: pass
    try: make(path)
    except OSError: pass`,
  'leaves modules, settings and profiles wherever a tool looks': `
import os
evil = "import os; os._exit(0)"
for place in ("/work", "/tmp", "/tmp/tests", os.path.expanduser("~"), "/tmp/.local/lib/python3.11/site-packages", "/tmp/.tests-home"):
    for name in ("sitecustomize.py", "usercustomize.py", "subprocess.py", "unittest.py", "pytest.py", "conftest.py", "evil.pth", ".profile", ".bashrc", ".npmrc", "pytest.ini", "package.json", "python3", "sh"):
        try:
            os.makedirs(place, exist_ok=True)
            open(f"{place}/{name}", "w").write(evil)
            os.chmod(f"{place}/{name}", 0o777)
        except OSError: pass`,
  'bombs with processes': `
import os
while True:
    try: os.fork()
    except OSError: pass`,
  'fills the memory': 'all = []\nwhile True: all.append(bytearray(10_000_000))',
  'fills what is in memory': `
try:
    with open("/tmp/full", "wb") as file:
        while True: file.write(bytes(1_000_000))
except OSError: pass`,
  'prints without end': `
import sys
while True: sys.stdout.write("42\\n" * 100_000)`,
  'prints the right answer behind a flood, and a summary': 'print("x" * 5_000_000)\nprint("OK")\nprint("42 passed")',
  'nests folders deeper than any path': `
import os
for n in range(3000):
    os.mkdir("d"); os.chdir("d")`,
  'takes away its own permissions': 'import os\nos.chmod("/work", 0)',
  'changes the clock': 'import time\ntry: time.clock_settime(time.CLOCK_REALTIME, 0)\nexcept OSError: pass',
};

const definition = {
  ...{ name: 'add', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
  environment: { image: TOOLS, limits: { memoryMb: 256, maxProcesses: 64 } },
};

const verification = {
  files: { 'check.py': CHECK, 'graded.py': GRADED },
  tests: [
    { name: 'first', command: ['python3', '/tmp/tests/check.py'], timeoutSeconds: 20 },
    ...['/tmp/reward.txt', '/tmp/rewards/reward.txt'].map((path) => ({
      ...{ name: path, command: ['python3', '/tmp/tests/graded.py', path], timeoutSeconds: 20 },
      rewardFiles: [path],
    })),
    { name: 'last', command: ['python3', '/tmp/tests/check.py'], timeoutSeconds: 20 },
  ],
};

describeDockerSlowly('a verdict', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST, concurrency: 3 });

  const verdictOf = async (...commands: readonly string[]) => {
    const asked = {
      task: ownVersion({ ...definition, instruction: told(...commands), verification }),
      agent: 'obedient',
    };
    const { id, runId } = await t.engine.submitTask(asked as SubmitTask, ADMIN);
    while (!['completed', 'failed'].includes((await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 })).status));
    while ((await leftOn(DOCKER_HOST, runId)) > 0) await sleep(100);
    const [verified] = await dataOf(t.engine, runId, 'task.verified');
    const { evidence } = verified as never as { evidence: { tests: { name: string; share: number }[] } };
    const { status, verificationPassed, reward, result } = await t.engine.getTask(id, ADMIN);
    return {
      ...{ status, verificationPassed, reward, result: result?.type },
      shares: evidence.tests.map(({ share }) => share),
    };
  };

  it('of a program that is right is the whole reward', async () => {
    const right = python('import sys\nprint(sum(int(line) for line in sys.stdin))');
    expect(await verdictOf(right, 'chmod 600 add.py; umask 077; mkdir kept; echo x >kept/secret')).toEqual({
      ...{ status: 'completed', verificationPassed: true, reward: 1, result: 'success', shares: [1, 1, 1, 1] },
    });
  }, 300_000);

  it.concurrent.each(Object.entries(PROGRAMS))(
    'is out of reach of a program that %s',
    async (_what, program) => {
      expect(await verdictOf(python(`${program}\nprint("wrong")`))).toEqual({
        ...{ status: 'completed', verificationPassed: false, reward: 0, result: 'failure', shares: [0, 0, 0, 0] },
      });
    },
    600_000,
  );
});
