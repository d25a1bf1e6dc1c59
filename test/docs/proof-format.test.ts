import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openCheckpoint, signCheckpoint } from '../../src/core/evidence/checkpoint.js';
import { signHandover, signRevocation, trustedBy } from '../../src/core/evidence/key-handover.js';
import { type ForgottenEntry, type LogEntry, type LossEntry, leafOf } from '../../src/core/evidence/log-entry.js';
import { TreeEdge } from '../../src/core/evidence/merkle.js';
import { type ProofBundle, provenEventOf } from '../../src/core/evidence/proof.js';
import { parseSigningKey, type SigningKey, signingKeyText, signNote } from '../../src/core/evidence/signed-note.js';
import { canonical, digestOf, sha256 } from '../../src/core/json.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import { dataHash, dataSalt, eventHash, genesis } from '../../src/core/log/chain.js';
import { EVENT_KINDS, type RunEvent, runEvent, TERMINAL_KINDS } from '../../src/core/log/event.js';
import { EMPTY_STATE } from '../../src/core/log/state.js';
import { checkProof, givenOf } from '../../src/proof/verify.mjs';
import { ROOT } from './pages.js';

const keyOf = (byte: number): SigningKey => {
  const key = parseSigningKey(signingKeyText('example.com/log', Buffer.alloc(32, byte)));
  if (key === null) throw new Error('a key that was just made is one');
  return key;
};
const [KEY, NEXT, THIRD, THIEF] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];

const goldenLog = z.object({ runKey: z.string(), events: z.array(runEvent) });
const LOGS = readdirSync(join(ROOT, 'test/golden'))
  .filter((name) => /^event-logs-v1(-.+)?\.json$/.test(name))
  .flatMap((name) => z.array(goldenLog).parse(JSON.parse(readFileSync(join(ROOT, 'test/golden', name), 'utf8'))));

/** A bundle of the first events of a log; those after them are in it, too, and nothing has signed them. */
function bundleOf(
  { runKey, events }: (typeof LOGS)[number],
  { signed = events.length, handovers = [] as string[], key = KEY } = {},
): ProofBundle {
  const last = events[signed - 1];
  if (last === undefined) throw new Error(`there is no event ${signed}`);
  const { runId, tenant, seq, hash, stateHashAfter: stateHash } = last;
  const entry: LogEntry = {
    v: 1,
    runId,
    tenant,
    seq,
    hash,
    stateHash,
    complete: TERMINAL_KINDS.has(last.kind),
    previous: null,
  };
  return {
    ...{ format: 'holdfast-proof-v1', runId, tenant, handovers, keys: [key.public.text], inclusion: [] },
    events: events.map((event) => provenEventOf(event as RunEvent, runKey, new Allowance())),
    entry: { ...entry, index: 0 },
    checkpoint: signCheckpoint(1, new TreeEdge(1, [leafOf(entry)]).root, key).note,
  };
}

const check = (bundle: unknown) =>
  checkProof(typeof bundle === 'string' ? bundle : JSON.stringify(bundle), [KEY.public.text]);
const [LOG = { runKey: '', events: [] }] = LOGS;

describe('the verifier of proofs', () => {
  it('makes the state of every golden log again, which have every kind', () => {
    expect(new Set(LOGS.flatMap(({ events }) => events.map(({ kind }) => kind)))).toEqual(new Set(EVENT_KINDS));
    for (const log of LOGS) {
      const report = check(bundleOf(log));
      expect(report).toMatchObject({ ok: true, problem: null });
      expect(report.proven).toContain(`the state was made again up to event ${log.events.length}`);
      expect(report.notProven.join()).not.toMatch(/what the state was/);
    }
  });

  it('says where it cannot make the state again, and why', () => {
    const bundle = bundleOf(LOG);
    const { data: _data, salt: _salt, ...bare } = bundle.events[3] ?? {};
    bundle.events.splice(3, 1, bare as (typeof bundle.events)[number]);
    expect(check(bundle)).toMatchObject({ ok: true });
    expect(check(bundle).notProven).toContain(
      'what the state was after event 3: the payload of event 4 is withheld or erased',
    );
    const { runKey, events } = LOG;
    const at = events.findIndex(({ kind }) => kind === 'model.requested');
    const chained = [
      ...events.slice(0, at),
      anew({ ...events[at], kind: 'model.dreamt' } as never, events[at - 1] as never),
    ];
    expect(check(bundleOf({ runKey, events: chained as typeof events })).notProven).toContain(
      `what the state was after event ${at}: event ${at + 1} has the kind "model.dreamt", which this program does not know`,
    );
  });

  it('proves nothing of events after the one that is signed', () => {
    const report = check(bundleOf(LOG, { signed: 3 }));
    expect(report).toMatchObject({ ok: true });
    expect(report.proven[0]).toMatch(/^proven up to event 3: events 1 to 3 /);
    expect(report.proven.join('\n')).toMatch(/^3 of the payloads of these 3 events/m);
    expect(report.proven).toContain('the state was made again up to event 3');
    expect(report.notProven).toContain(`events 4 to ${LOG.events.length}, which no signature covers`);
  });

  const text = JSON.stringify(bundleOf(LOG));
  const changes: [string, (text: string) => string, RegExp][] = [
    ['a second data', (one) => one.replace('"data":', '"data":{"forged":1},"data":'), /has the member "data" twice/],
    ['a member twice by an escape', (one) => one.replace('"v":1', '"v":1,"\\u0076":1'), /has the member "v" twice/],
    ['a member more in an event', (one) => one.replace('"v":1', '"v":1,"note":"x"'), /a member "note"/],
    ['a member more in the bundle', (one) => one.replace('{', '{"note":"x",'), /the bundle has a member "note"/],
    ['a member more in the entry', (one) => one.replace('"entry":{', '"entry":{"note":"x",'), /the entry has a member/],
    ['no keys', (one) => one.replace('"keys"', '"sleys"'), /has no member "keys"/],
    ['a salt with junk', (one) => one.replace(/"salt":"([0-9a-f]+)"/, '"salt":"$1zz"'), /its salt is not written/],
    [
      'a salt in capitals',
      (one) => one.replace(/"salt":"[0-9a-f]+"/, (salt) => `"salt"${salt.slice(6).toUpperCase()}`),
      /its salt is not written/,
    ],
    ['a salt without data', (one) => one.replace(/"data":.*?,"salt"/, '"salt"'), /a salt without a payload/],
    ['a commitment that is longer', (one) => one.replace(/hmac-sha256:/, 'hmac-sha256:00'), /its hash does not fit/],
    [
      'a hash of the inclusion with junk',
      (one) => one.replace('"inclusion":[', '"inclusion":["zz"'),
      /something else than hashes/,
    ],
    [
      'an index that is no number',
      (one) => one.replace('"index":0', '"index":"0"'),
      /index of the entry is no whole number/,
    ],
    [
      'a line more in the checkpoint',
      (one) => one.replace('"checkpoint":"', '"checkpoint":"x\\n'),
      /another number of lines/,
    ],
    ['a number that no double is', (one) => one.replace('"maxDurationMs":null', '"maxDurationMs":1e999'), /RFC 8785/],
    ['a number with more digits', (one) => one.replace('"v":1', '"v":1.00000000000000000001'), /the number 1\.0+1 is/],
    ['a number in another way', (one) => one.replace('"v":1', '"v":1e0'), /the number 1e0 is not written/],
    ['a minus before zero', (one) => one.replace('"index":0', '"index":-0'), /the number -0 is not written/],
    ['half of a surrogate', (one) => one.replace('"kind":"', '"kind":"\\ud800'), /half of a pair/],
    ['a key that is none', (one) => one.replace('"keys":["', '"keys":["x'), /is no public key/],
  ];
  it.each(changes)('refuses %s', (_what, change, problem) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    expect(check(changed)).toMatchObject({ ok: false, problem: expect.stringMatching(problem), proven: [] });
  });
});

describe('keys that hand over', () => {
  const undated = (from: SigningKey, to: SigningKey): string =>
    signNote(signHandover(from, to, 0).split('\n').slice(0, 4).join('\n').concat('\n'), from, to);
  const at = (size: number) => [signHandover(KEY, NEXT, size), signHandover(NEXT, THIRD, size)];
  const stolen = [signHandover(KEY, THIEF, 5), signHandover(KEY, NEXT, 5)];
  // Who signs the checkpoint of one entry, who is trusted, the notes, and what is wrong.
  const CASES: [string, SigningKey, SigningKey, string[], RegExp | null][] = [
    ['the older key before its hand-over', KEY, NEXT, at(1), null],
    ['the older key beyond its hand-over', KEY, NEXT, at(0), /believed up to 0|up to fewer/],
    ['the older key beyond its hand-over, for who trusts it', KEY, KEY, at(0), /believed up to 0|up to fewer/],
    ['the oldest key beyond its hand-over', KEY, THIRD, at(0), /believed up to 0|up to fewer/],
    ['the newest key, for who trusts the oldest', THIRD, KEY, at(0), null],
    ['an older key whose hand-over has no number', KEY, NEXT, [undated(KEY, NEXT)], null],
    [
      'one that was revoked later',
      KEY,
      NEXT,
      [undated(KEY, NEXT), signRevocation(KEY.public, 0, NEXT)],
      /believed up|fewer/,
    ],
    [
      'one that was revoked by a key after the next',
      KEY,
      KEY,
      [...at(9), signRevocation(KEY.public, 0, THIRD)],
      /believed up|fewer/,
    ],
    ['one that a key revokes to which it never led', NEXT, NEXT, [signRevocation(NEXT.public, 0, KEY)], null],
    ['one that it revokes itself', KEY, KEY, [signRevocation(KEY.public, 0, KEY)], null],
    [
      'one that is revoked in the name of another log',
      KEY,
      KEY,
      [...at(9), signNote(`another\nkey revocation\n${KEY.public.text}\n0\n`, NEXT)],
      null,
    ],
    [
      'a key that a thief made, for who trusts the stolen one',
      THIEF,
      KEY,
      stolen,
      /not signed by|no key that is trusted/,
    ],
    [
      'the right key, for who cannot tell it from that of the thief',
      NEXT,
      KEY,
      stolen,
      /not signed by|no key that is trusted/,
    ],
    ['the right key, for who trusts it', NEXT, NEXT, stolen, null],
    [
      'a key that a thief made, for who trusts the right one',
      THIEF,
      NEXT,
      stolen,
      /not signed by|no key that is trusted/,
    ],
  ];
  it('a bundle with more notes than any log has is refused before they are compared', () => {
    const bundle = bundleOf(LOG, { key: KEY, handovers: Array.from({ length: 1001 }, () => stolen[0] ?? '') });
    const report = checkProof(JSON.stringify(bundle), [KEY.public.text]);
    expect(report).toMatchObject({ ok: false, problem: expect.stringContaining('1001 are more than the 1000') });
  });
  it.each(CASES)('%s', (_what, signer, trusted, handovers, problem) => {
    const bundle = bundleOf(LOG, { key: signer, handovers });
    const report = checkProof(JSON.stringify(bundle), [trusted.public.text]);
    const opened = openCheckpoint(bundle.checkpoint, trustedBy([trusted.public], handovers));
    if (problem === null) {
      expect(report).toMatchObject({ ok: true, problem: null });
      expect(opened).toMatchObject({ size: 1 });
    } else {
      expect(report).toMatchObject({ ok: false, problem: expect.stringMatching(problem) });
      expect(opened).toMatch(problem);
    }
  });

  it('are named by what they were trusted for', () => {
    const { proven } = checkProof(JSON.stringify(bundleOf(LOG, { key: NEXT, handovers: at(7) })), [KEY.public.text]);
    expect(proven[0]).toContain(
      `signed by ${NEXT.public.text}, which is trusted because ${KEY.public.text} handed over to it at 7 entries`,
    );
  });

  it('hand over also where only the file of keys says so, and the bundle keeps it back', () => {
    const file = [
      { key: KEY.public.text, handover: null },
      { key: NEXT.public.text, handover: at(0)[0] },
    ];
    const given = givenOf(['@keys'], () => file.map((line) => JSON.stringify(line)).join('\n'));
    expect(checkProof(JSON.stringify(bundleOf(LOG)), given)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/believed up to 0/),
    });
    expect(checkProof(JSON.stringify(bundleOf(LOG)), given.keys)).toMatchObject({ ok: true });
    const number = () => JSON.stringify({ key: KEY.public.text, handover: 7 });
    expect(() => givenOf(['@keys'], number)).toThrow('a note of a line of keys is no text');
  });
});

/** The first log with something else in its last event of a kind, which it ends with, chained again. */
const endingWith = (kind: string, change: (event: RunEvent) => Partial<RunEvent>): ProofBundle => {
  const { runKey, events } = LOGS.find((log) => log.events.some((event) => event.kind === kind)) ?? LOG;
  const at = events.findIndex((event) => event.kind === kind);
  const { [at]: event, [at - 1]: previous } = events as readonly RunEvent[];
  if (event === undefined) throw new Error(`there is no ${kind}`);
  const changed = { ...event, ...change(event) };
  const committed = { ...changed, dataHash: dataHash(runKey, at + 1, canonical(changed.data)) };
  const prevHash = previous?.hash ?? event.prevHash;
  return bundleOf({ runKey, events: [...events.slice(0, at), anew(committed, { hash: prevHash })] });
};

describe('an event that was signed, and that programs would not read as one', () => {
  const without =
    (...names: readonly string[]) =>
    ({ data }: RunEvent) => ({
      data: Object.fromEntries(Object.entries(Object(data)).filter(([name]) => !names.includes(name))),
    });
  const said =
    (more: object) =>
    ({ data }: RunEvent) => ({ data: { ...Object(data), ...more } });
  const zero = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  it.each<[string, (event: RunEvent) => Partial<RunEvent>]>([
    ['run.created', without('input')],
    ['segment.started', without('segment')],
    ['model.requested', () => ({ data: 'all' })],
    ['model.responded', without('output')],
    ['model.responded', said({ usage: { ...zero, inputTokens: '5' } })],
    ['model.responded', said({ usage: {} })],
    ['call.checked', without('digest')],
    ['call.checked', said({ callId: 7 })],
    ['call.started', without('callId')],
    ['call.finished', said({ callId: null })],
    ['interruption.requested', without('kind')],
    ['interruption.decided', said({ id: ['x'] })],
    ['run.completed', without('output')],
    ['run.failed', said({ error: {} })],
    ['run.cancelled', without('reason')],
  ])('is refused for the shape of its payload: %s', (kind, change) => {
    const report = check(endingWith(kind, change));
    expect(report).toMatchObject({ ok: false, problem: expect.stringContaining('not the shape of its kind') });
  });

  it.each(['2999-02-30T00:00:00.000Z', '2999-01-01T24:00:00.000Z', '2999-13-01T00:00:00.000Z'])(
    'is refused for a time that is none: %s',
    (at) => {
      const report = check(endingWith('run.completed', () => ({ at })));
      expect(report).toMatchObject({ ok: false, problem: expect.stringContaining('its time is none') });
    },
  );
});

describe('a checkpoint that two keys signed', () => {
  const bundle = bundleOf(LOG, { handovers: [signHandover(KEY, NEXT, 0)] });
  const text = bundle.checkpoint.slice(0, bundle.checkpoint.lastIndexOf('\n\n') + 1);
  const signed = (checkpoint: string) => ({
    report: checkProof(JSON.stringify({ ...bundle, checkpoint }), [KEY.public.text]),
    opened: openCheckpoint(checkpoint, trustedBy([KEY.public], bundle.handovers)),
  });

  it('is believed for the one that is trusted so far, in any order', () => {
    for (const keys of [
      [KEY, NEXT],
      [NEXT, KEY],
    ]) {
      const { report, opened } = signed(signNote(text, ...keys));
      expect(report).toMatchObject({ ok: true, problem: null });
      expect(opened).toMatchObject({ signedBy: { text: NEXT.public.text } });
    }
  });

  it('is refused where one of the two signatures is wrong', () => {
    const wrong = signNote('another text\n', KEY).split('\n\n')[1] ?? '';
    const { report, opened } = signed(`${signNote(text, NEXT)}${wrong}`);
    expect(report).toMatchObject({ ok: false, problem: expect.stringContaining('a wrong signature') });
    expect(opened).toBe('no key that is trusted here has signed it');
  });

  it('may have signatures of others, of another length', () => {
    const other = `\u2014 witness.example ${Buffer.alloc(76, 7).toString('base64')}\n`;
    const { report, opened } = signed(`${signNote(text, NEXT)}${other}`);
    expect(report).toMatchObject({ ok: true });
    expect(opened).toMatchObject({ size: 1 });
  });

  it('is refused with a control character, and with more than 100 signatures', () => {
    const other = `\u2014 witness.example ${Buffer.alloc(76, 7).toString('base64')}\n`;
    for (const checkpoint of [
      `${signNote(text, NEXT)}${other.replace('.', '\x01')}`,
      signNote(text, NEXT) + other.repeat(100),
    ]) {
      const { report, opened } = signed(checkpoint);
      expect(report).toMatchObject({ ok: false });
      expect(opened).toBe('it is no signed note');
    }
  });
});

/** The event with its own hash, after another one. */
const anew = (event: RunEvent, before: Pick<RunEvent, 'hash'>) => {
  const next = { ...event, prevHash: before.hash };
  return { ...next, hash: eventHash(next) };
};

const PAGE = join(ROOT, 'docs/evidence/proof-format.md');
const WRITE = process.env['HOLDFAST_WRITE_GOLDEN'] === '1';

/** What the page shows, made by the engine. */
function vectors() {
  const runKey = '0f'.repeat(32);
  const entry: LogEntry = {
    ...{ v: 1, runId: 'run_1', tenant: 'default', seq: 2, hash: sha256('x'), stateHash: sha256('y') },
    ...{ complete: false, previous: null },
  };
  const loss: LossEntry = {
    ...{ v: 1, loss: 'erased', runId: 'run_1', tenant: 'default', seq: 2, hash: sha256('x') },
    ...{ actor: 'ada', reason: 'asked for', previous: leafOf(entry) },
  };
  const forgotten: ForgottenEntry = {
    ...{ v: 1, loss: 'forgotten', document: '4b1d', space: 'facts', tenant: 'default', version: 3 },
    ...{ actor: 'ada', reason: 'asked for' },
  };
  const edge = new TreeEdge();
  for (const one of [entry, loss, entry]) edge.append(leafOf(one));
  const data = { b: 'é', a: [1, 0.5, 1e21, null], '\u20ac': '\u2028' };
  const shown = { instructions: 'Be short.', items: [{ type: 'message', role: 'user', content: 'Hello' }] };
  return {
    canonical: { value: data, text: canonical(data) },
    genesis: { tenant: 'default', runId: 'run_1', prevHash: genesis('run_1', 'default').hash },
    emptyState: digestOf(EMPTY_STATE as never),
    payload: {
      runKey,
      seq: 7,
      salt: dataSalt(runKey, 7).toString('hex'),
      data,
      dataHash: dataHash(runKey, 7, canonical(data)),
    },
    entry: { entry, leaf: leafOf(entry) },
    loss: { entry: loss, leaf: leafOf(loss) },
    forgotten: { entry: forgotten, leaf: leafOf(forgotten) },
    tree: { leaves: [leafOf(entry), leafOf(loss), leafOf(entry)], root: edge.root },
    key: { seed: '01'.repeat(32), publicKey: KEY.public.text },
    checkpoint: signCheckpoint(3, edge.root, KEY).note,
    handover: { seed: '02'.repeat(32), note: signHandover(KEY, NEXT, 100) },
    revocation: signRevocation(KEY.public, 90, NEXT),
    inputDigest: { ...shown, inputDigest: digestOf(shown) },
    proof: bundleOf({ runKey: LOG.runKey, events: LOG.events.slice(0, 3) }),
  };
}

it('docs/evidence/proof-format.md has the vectors that the engine makes', () => {
  const page = readFileSync(PAGE, 'utf8');
  const block = `\`\`\`json\n${JSON.stringify(vectors(), null, 1)}\n\`\`\`\n`;
  const [before = ''] = page.split('<!-- vectors -->');
  const expected = `${before}<!-- vectors -->\n\n${block}`;
  if (WRITE) writeFileSync(PAGE, expected);
  else expect(page).toBe(expected);
  expect(check(vectors().proof)).toMatchObject({ ok: true, problem: null });
});
