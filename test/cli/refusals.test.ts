import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Actor, statsOf, TOKENS } from '../http/door.js';
import { castOf, type Names, openStage, type Stage } from '../http/stage.js';
import { runHere } from './in-process.js';

/** Commands that are refused: two lines, what is wrong with its code and the way out; 1, or 2 for a wrong command line. */

let stage: Stage;
let names: Names;
let dir: string;
let before: unknown;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  writeFileSync(join(dir, 'list.json'), '[1]');
  writeFileSync(join(dir, 'text'), 'no JSON');
  stage = await openStage('pglite');
  names = await castOf(stage);
  before = await stats();
});
afterAll(async () => {
  try {
    expect(await stats(), 'a refused command changed something').toEqual(before);
  } finally {
    await stage.door.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
const stats = (): Promise<unknown> => statsOf(stage.door);

const holdfast = (args: readonly string[], actor: Actor = 'adam') =>
  runHere(args, { HOLDFAST_URL: stage.door.http.url, HOLDFAST_TOKEN: TOKENS[actor].token, HOLDFAST_DATA_DIR: dir });

interface Refused {
  readonly line: readonly string[];
  readonly code: string;
  /** What the first line names. */
  readonly named: string | RegExp;
  readonly actor?: Actor;
}

async function assertRefused({ line, code, named, actor }: Refused, exitCode: number): Promise<void> {
  const ended = await holdfast(
    line.map((word) => names.in(word.replaceAll('{dir}', dir))),
    actor,
  );
  const [what = '', wayOut = '', ...rest] = ended.stderr.split('\n');
  expect(what).toMatch(new RegExp(`^holdfast: .+ \\(${code}\\)$`));
  expect(what).toMatch(named);
  expect(wayOut).toMatch(/^ {2}\S/);
  expect(rest).toEqual(['']);
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: exitCode, stdout: '' });
}

test('all logs of a tenant are verified without the log over all runs, and with it by a role in the installation', async () => {
  const [seen, whole] = [await holdfast(['verify', '--all'], 'zoe'), await holdfast(['verify', '--all'], 'vera')];
  expect([seen.code, whole.code], seen.stderr + whole.stderr).toEqual([0, 0]);
  expect(seen.stdout).toContain('log over all runs: not verified, which takes a token with a role in the installation');
  expect(whole.stdout).toMatch(/log over all runs: \d+ entries, /);
});

describe('a command line that is wrong', () => {
  const wrong = (named: string | RegExp, ...line: readonly string[]): Refused => ({
    line,
    named,
    code: 'invalid_request',
  });
  const cases = [
    wrong("'input'", 'run', 'payer'),
    wrong("'-m, --message <text>'", 'reject', '{payer.wait}'),
    wrong("'run'. Expected an id.", 'cancel', ''),
    wrong("'run'. Expected an id.", 'events', '..'),
    wrong("'id'. Expected an id.", 'approve', '.'),
    wrong("'session'. Expected an id.", 'sessions', '..', '--delete'),
    wrong("'name'. Expected an id.", 'emit', '..'),
    wrong("'--revoke <id>'", 'standing-decisions', '{twice}', '--revoke', '..'),
    wrong('--message', 'cancel', '{payer}', '-m', ''),
    wrong('--message', 'reject', '{payer.wait}', '-m', ''),
    wrong('--message', 'approve', '{payer.wait}', '-m', ''),
    wrong('--message', 'answer', '{asker.wait}', '{"cents": 1}', '-m', ''),
    wrong('--arguments', 'approve', '{payer.wait}', '--arguments', '[]'),
    wrong('--arguments', 'approve', '{payer.wait}', '--arguments', '{"to": '),
    wrong(/--arguments.*ENOENT/, 'approve', '{payer.wait}', '--arguments', '@nowhere.json'),
    wrong('--scope', 'approve', '{payer.wait}', '--always', '--scope', 'bank:pay:alice'),
    wrong("argument 'json'", 'answer', '{asker.wait}', 'twelve'),
    wrong("argument 'json'", 'emit', 'paid', '{cents: 5}'),
    wrong('--at', 'fork', '{completed}'),
    wrong('--edits', 'fork', '{completed}', '--at', '1', '--edits', 'turn 1'),
    wrong('/edits: ', 'fork', '{completed}', '--at', '1', '--edits', '{}'),
    wrong('/edits/0/turn: ', 'fork', '{completed}', '--at', '1', '--edits', '[{"turn": 0, "output": [{}]}]'),
    wrong('/model: ', 'fork', '{completed}', '--at', '1', '--model', ''),
    wrong("'--after <n>'", 'sessions', 'talk', '--after', 'x'),
    wrong('--after needs', 'sessions', '--after', '5'),
    wrong('--delete needs', 'sessions', '--delete'),
    wrong('--cancel needs', 'batches', '--cancel'),
    wrong('--message goes', 'batches', 'monday', '-m', 'why'),
    wrong("'--by <what>'", 'batches', '--by', 'weather'),
    wrong('--stop needs', 'workers', '--stop', 'drain'),
    wrong("'--stop <how>'", 'workers', 'one', '--stop', 'now'),
    wrong("'--kind <kind>'", 'inbox', '--kind', 'fax'),
    wrong("'--expires-before <time>'", 'inbox', '--expires-before', 'soon'),
    wrong("'--limit <n>'", 'inbox', '--limit', '0'),
    wrong("'--status <status>'", 'runs', '--status', 'done'),
    wrong("'--key <key>'", 'run', 'payer', 'go', '--key', 'two words'),
    wrong("'--key <key>'", 'run', 'payer', 'go', '--key', 'schlüssel'),
    wrong(
      'no consistency proof',
      'proof',
      'check',
      '{dir}/text',
      ...['--key', 'k', '--checkpoint', '{dir}/text'],
      ...['--consistency', '{dir}/text'],
    ),
    wrong('names of two groups', 'quality', '--compare', 'one'),
    wrong("'--reason <text>'", 'reward', '{completed}', '1', '--reason', ''),
    wrong("'--model <model>'", 'demo', '--model', ''),
    wrong('--junit', 'crashtest', 'payer', '--junit', '{dir}/nowhere/crash.xml'),
  ];
  for (const refused of cases) test(refused.line.join(' '), () => assertRefused(refused, 2));
});

test.each([
  [['init', '{dir}/text'], 'EEXIST'],
  [['signing-key', 'make', '{dir}'], 'EISDIR'],
])('a path that cannot be used is no error inside: %j', (line, named) =>
  assertRefused({ line, code: 'invalid_request', named }, 1),
);

describe('what the server refuses', () => {
  const by = (actor: Actor, code: string, named: string | RegExp, ...line: readonly string[]): Refused => ({
    ...{ actor, code, named, line },
  });
  const refused = (code: string, named: string | RegExp, ...line: readonly string[]): Refused =>
    by('adam', code, named, ...line);
  const cases = [
    refused('run_unknown', '"run_x"', 'cancel', 'run_x'),
    refused('run_unknown', '"run_x"', 'events', 'run_x', '--follow'),
    refused('run_unknown', '"run_x"', 'trajectory', 'run_x'),
    refused('run_unknown', '"run_x"', 'standing-decisions', 'run_x'),
    refused('run_unknown', '"run_x"', 'fork', 'run_x', '--at', '1'),
    refused('run_over', '{completed}', 'cancel', '{completed}'),
    refused('run_unknown', '"run_x"', 'delete', 'run_x'),
    refused('run_begun', '{completed}', 'delete', '{completed}'),
    by('vera', 'forbidden', 'operator', 'delete', '{completed}'),
    refused('standing_decision_unknown', '"std_x"', 'standing-decisions', '{twice}', '--revoke', 'std_x'),
    by('otto', 'forbidden', 'approver', 'standing-decisions', '{twice}', '--revoke', '{standing}'),
    refused('interruption_unknown', '"int_x"', 'approve', 'int_x'),
    refused('invalid_request', '/arguments: ', 'approve', '{payer.wait}', '--arguments', '{"to": "alice"}'),
    refused(
      'capability_denied',
      '/arguments: ',
      'approve',
      '{payer.wait}',
      '--arguments',
      '{"to": "bob", "amount": 1}',
    ),
    refused('capability_invalid', '/always/scope/0', 'approve', '{payer.wait}', '--scope', 'everything'),
    refused('invalid_request', '/always: ', 'approve', '{payer.wait}', '--scope', 'bank:pay:carol'),
    refused('plain_approval_only', 'may have happened', 'approve', '{poster.wait}', '--always'),
    refused('verdict_not_allowed', 'answer, reject', 'approve', '{asker.wait}'),
    refused('verdict_not_allowed', '(timer)', 'approve', '{napper.wait}'),
    refused('verdict_not_allowed', '(event)', 'answer', '{waiter.wait}', '1'),
    refused('invalid_request', '/value/cents: ', 'answer', '{asker.wait}', '{"cents": "12"}'),
    refused('invalid_request', '/value: expected one of "red", "blue"', 'answer', '{chooser.wait}', '"green"'),
    by('zoe', 'interruption_unknown', 'int_', 'answer', '{asker.wait}', '{"cents": 1}'),
    refused('invalid_request', '/path/name: ', 'emit', '_paid'),
    refused('invalid_request', '/key: ', 'emit', 'paid', '--key', 'a b'),
    refused('run_over', '{completed}', 'emit', 'paid', '--run', '{completed}'),
    refused('idempotency_key_reused', '"kept"', 'emit', 'paid', '2', '--id', 'kept'),
    by('vera', 'forbidden', 'operator', 'emit', 'paid'),
    refused('session_unknown', '"nobody"', 'sessions', 'nobody'),
    refused('worker_unknown', '"nobody"', 'workers', 'nobody'),
    refused('session_busy', '"talk"', 'sessions', 'talk', '--delete'),
    refused('session_busy', '"talk"', 'run', 'payer', 'go', '--session', 'talk'),
    refused('invalid_request', '/sessionId: ', 'run', 'payer', 'go', '--session', 'two words'),
    refused('fork_invalid', '"0"', 'fork', '{completed}', '--at', '0'),
    refused('fork_invalid', 'the end', 'fork', '{completed}', '--at', 'the end'),
    refused('fork_invalid', 'event 1000', 'fork', '{completed}', '--at', '1000'),
    refused('fork_invalid', 'turn 9', 'fork', '{completed}', '--at', '3', '--edits', '[{"turn": 9, "output": [{}]}]'),
    refused('run_not_failed', 'completed', 'retry', '{completed}'),
    refused('log_whole', '{completed}', 'repair', '{completed}'),
    by('vera', 'forbidden', 'admin', 'repair', '{completed}'),
    refused('invalid_request', '/query/parent: ', 'runs', '--parent', 'a b'),
  ];
  for (const { named, ...rest } of cases) {
    test(rest.line.join(' '), () =>
      assertRefused({ ...rest, named: typeof named === 'string' ? names.in(named) : named }, 1),
    );
  }
});
