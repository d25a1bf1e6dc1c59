import { describe, expect, it } from 'vitest';
import { COMMANDS_MOST, commandsIn } from '../../../src/core/shell-commands.js';
import { isLike, judgeProcess, processRules } from '../../../src/core/tasks/process-rules.js';
import { parseTask, taskHashOf } from '../../../src/core/tasks/task-definition.js';
import { comparedOutput, DEFAULT_WEIGHTS, judgementOf, verdictOf } from '../../../src/core/tasks/task-reward.js';
import { aTask } from './a-task.js';

describe('rules for the process', () => {
  it('read the commands of a line, with what is before a program left out', () => {
    expect(commandsIn('cd a && FOO=1 sudo git   push | tee x; echo "a"\nls')).toEqual([
      ...['cd a', 'sudo git push', 'git push', 'tee x', 'echo "a"', 'ls'],
    ]);
    expect(commandsIn("bash -lc 'pytest -q && git push'")).toEqual(['pytest -q', 'git push']);
    for (const options of [
      '-euo pipefail',
      '-o pipefail -O extglob',
      '+o posix',
      '--rcfile /x --norc',
      '--init-file=/x',
    ])
      for (const run of [`bash ${options} -c 'git push'`, `bash ${options} <<E\ngit push\nE`])
        expect(commandsIn(run), run).toContain('git push');
    expect(commandsIn("cd a && /bin/sh -e -c 'ls; git push' || if git pull; then x; fi")).toEqual([
      ...['cd a', 'git pull', 'x', 'fi', 'ls', 'git push'],
    ]);
  });

  it('read nothing of quotes and comments', () => {
    const line = `echo "a; git push b" 'c\nd' # then; pytest -q\necho e\\; f "g\\"; h" i#j; k`;
    expect(commandsIn(line)).toEqual([...[`echo "a; git push b" 'c d'`, 'echo e\\; f "g\\"; h" i#j', 'k']]);
    expect(commandsIn("echo 'a; git push")).toEqual(["echo 'a; git push"]);
    for (const one of ['"', "'", '#\n', '\\', '(', 'sh -c "', 'sh -o a ', ' -o -o', 'a=', ' '])
      commandsIn(one.repeat(9_000));
  });

  it('read no documents, but those that a shell reads', () => {
    const written =
      "cat >run.md <<'EOF' && ls\ngit push\nEOF\nmake\ncat <<-X <<Y >a\n\tgit push\n\tX\nrm -rf /\nY\ndone";
    expect(commandsIn(written)).toEqual(["cat >run.md <<'EOF'", 'ls', 'make', 'cat <<-X <<Y >a', 'done']);
    for (const run of ['sh <<EOF\ngit push\nEOF', 'bash -s <<"E F"\ngit push\nE F', 'cat <<A | sh\ngit push\nA\n'])
      expect(commandsIn(run)).toContain('git push');
    expect(commandsIn('sh build.sh <<EOF\ngit push\nEOF')).toEqual(['sh build.sh <<EOF']);
    // What does not end, and what is no document.
    for (const run of ['cat <<EOF\ngit push', 'echo $((1<<2))\ngit push', 'cat <<<EOF\ngit push\nEOF'])
      expect(commandsIn(run)).toContain('git push');
    for (const one of ['<<a\n', 'sh <<a\na\n', 'sh <<a\n', '<<-a\n\ta\n', '<', '<<"'])
      expect(commandsIn(one.repeat(9_000)).length).toBeLessThanOrEqual(COMMANDS_MOST + 1);
  });

  it('find a program behind what starts it, by whatever it is written', () => {
    const ways = [
      ...[
        'git \\\n push',
        "'git' push",
        '\\git push',
        'A="b c" git push',
        '</dev/null 2>a git push',
        'env -i A=1 git push',
      ],
      ...[
        'sudo -u x git push',
        'time -p git push',
        'timeout -k 5 30s git push',
        'nice -n5 git push',
        'xargs -n 1 git push',
      ],
      ...[
        "eval 'git push'",
        "bash -c 'git push' ''",
        'sh -c "git push" "x"',
        '/usr/bin/git push',
        'exec -a x git push',
      ],
      ...['command -- git push', 'nohup git push', 'busybox git push', 'sudo --user root -E git push'],
      ...[
        'find . -name x -exec git push {} \\;',
        "find . -exec cat {} ';' -execdir git push {} +",
        'chroot / git push',
      ],
      ...['find . -exec sh -c "git push" {} +', 'watch -n 5 git push', "watch 'git push'", 'watch -d "ls; git push"'],
      ...["su -c 'git push'", 'su - bob -c "git push"', "su bob --command='git push'", 'su -lc "git push" bob'],
      ...['runuser -u bob -- git push', 'sudo su -c "git push"', "script -qc 'git push' /dev/null"],
      ...['parallel git push ::: a b', "parallel -j 4 'git push {}' ::: a", 'ls | parallel --jobs 4 git push'],
      ...['flock /tmp/l git push', "flock -n /tmp/l -c 'git push'", 'strace -f -o x git push', 'gosu bob git push'],
      ...['eval git push', 'eval "git" push', 'sh -c git\\ push', 'bash -c -x "git push"', 'xargs -I{} git push {}'],
      ...['taskset 1 git push', 'env --chdir /x git push', 'timeout --signal KILL 5 git push', 'unshare -r git push'],
    ];
    expect(ways.filter((way) => !commandsIn(way).some((one) => isLike(one, 'git push')))).toEqual([]);
    expect(commandsIn('env; sudo; time; X=1; >a')).toEqual(['env', 'sudo', 'time']);
    expect(['sudo', 'env *'].map((one) => commandsIn('sudo env -i git push').some((of) => isLike(of, one)))).toEqual([
      true,
      true,
    ]);
    expect([isLike('/usr/bin/git push', '/bin/git push'), isLike('cat a/git push', 'git push')]).toEqual([
      false,
      false,
    ]);
  });

  it('are like a command by its words, and by stars', () => {
    expect(['git push', 'git push -f', 'git pushx', 'git pull'].map((one) => isLike(one, 'git push'))).toEqual([
      ...[true, true, false, false],
    ]);
    expect(isLike('rm -r -f /', 'rm * /')).toBe(true);
    expect(isLike('a'.repeat(1000), `${'*a'.repeat(200)}b`)).toBe(false);
  });

  it('count as broken where a call has more commands than are read', () => {
    const rules = processRules.parse({ requiredCommands: ['ls'], forbiddenCommands: ['git push'] });
    const found = { steps: 1, seconds: 1, matched: new Map([['ls', 'ls']]), unread: true };
    expect(judgeProcess(rules, found).map(({ kept }) => kept)).toEqual([true, false]);
    for (const one of ['sudo ', 'watch ', 'eval ', 'find -exec ', 'sudo --a x ', 'parallel ', 'find . -exec a \\; '])
      expect(commandsIn(`${one.repeat(6000)}git push`), one).toHaveLength(COMMANDS_MOST + 1);
    for (const one of ['sudo ', 'find . -exec a \\; -exec ', 'eval ', 'watch '])
      expect(
        commandsIn(`${one.repeat(15)}git push`).some((of) => isLike(of, 'git push')),
        one,
      ).toBe(true);
    expect(commandsIn('true;'.repeat(300))).toHaveLength(COMMANDS_MOST + 1);
    expect(commandsIn(';'.repeat(60_000))).toEqual([]);
  });

  it('name each rule, and a broken one leaves no reward', () => {
    const rules = processRules.parse({
      requiredCommands: ['pytest'],
      forbiddenCommands: ['git push'],
      mostSteps: 3,
      mostSeconds: 60,
    });
    const ends = judgeProcess(rules, {
      steps: 4,
      seconds: 60,
      matched: new Map([['pytest', 'pytest -q']]),
      unread: false,
    });
    expect(ends.map(({ rule, kept }) => [rule, kept])).toEqual([
      ['requiredCommands: pytest', true],
      ['forbiddenCommands: git push', true],
      ['mostSteps', false],
      ['mostSeconds', true],
    ]);
    const end = { exitCode: 0, timedOut: false, outOfMemory: false, stdout: '', stderr: '', omittedBytes: 0 };
    const tests = [{ ...end, name: 'adds', weight: 1, share: 1 }];
    const found = { tests, compile: null, lint: null, findings: [], steps: 4, estimatedSteps: null };
    expect(verdictOf(found, DEFAULT_WEIGHTS)).toMatchObject({ passed: true, reward: 1 });
    const evidence = { ...found, process: [...ends] };
    const verdict = verdictOf(evidence, DEFAULT_WEIGHTS);
    expect(verdict).toMatchObject({
      passed: false,
      reward: 0,
      reason: 'Rules of the process: mostSteps (4 steps, of 3 at most).',
    });
    expect(judgementOf({ evidence, verdict, given: null }).signals).toMatchObject({ 'process:mostSteps': 0 });
  });

  it('are a part of a definition, whose hash is the same without them', () => {
    const without = parseTask(aTask());
    expect('process' in without).toBe(false);
    expect(taskHashOf(parseTask(aTask({ process: { mostSteps: 3 } })))).not.toBe(taskHashOf(without));
    expect(() => parseTask(aTask({ process: { leastSteps: 3, mostSteps: 2 } }))).toThrow('is more than mostSteps');
    const test = { name: 'prints', command: './sum', prints: 1 };
    expect(() => parseTask(aTask({ expectedOutputs: ['4'], verification: { tests: [test] } }))).toThrow('/prints');
  });
});

describe('expected outputs', () => {
  const compared = (stdout: string, expected: string, omittedBytes = 0) =>
    comparedOutput({ stdout, omittedBytes }, expected);
  it('are compared line by line', () => {
    expect(compared('a  \nb\n\n', 'a\nb')).toEqual({ share: 1 });
    expect(compared('a\nc', 'a\nb\n')).toEqual({ share: 0, why: 'line 2 is "c" where "b" is expected' });
    expect(compared('a', 'a\nb')).toEqual({ share: 0, why: 'line 2 is nothing where "b" is expected' });
    expect(compared('a', 'a', 5)).toEqual({ share: 0, why: 'it printed more than is expected' });
  });
});
