import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { signCheckpoint } from '../../../src/core/evidence/checkpoint.js';
import type { ProofBundle } from '../../../src/core/evidence/proof.js';
import { parseSigningKey, type SigningKey } from '../../../src/core/evidence/signed-note.js';
import { makeLogKey, revokeLogKey, rotateLogKey } from '../../../src/engine/evidence/log-keys.js';
import { createEngine, defineAgent, defineTool, type Engine } from '../../../src/index.js';
import { checkProof, main } from '../../../src/proof/verify.mjs';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const count = defineTool({
  ...{ name: 'count', description: 'Counts.', input: z.object({ by: z.int() }), output: z.int(), effect: 'pure' },
  execute: ({ by }, { state }) => {
    state.add('/n', by);
    state.append('/list', { by });
    state.change((draft) => {
      if (by === 2) Object.assign(draft, { gone: true });
      else Object.assign(draft, { deep: { 'a/b~c': by } });
    });
    if (state.version > 0) state.change((draft) => void Reflect.deleteProperty(draft, 'gone'));
    return by;
  },
});
const counter = defineAgent({
  agent: new Agent({
    ...{ name: 'counter', tools: [count] },
    model: scripted([[call('count', { by: 2 }, 'c1')], [call('count', { by: 3 }, 'c2')]]),
  }),
  ...{ grants: ['tool:call:count'], state: z.looseObject({}) },
});
const config = {
  agents: [echoAgent('secret words'), counter],
  evidence: { intervalMs: 3_600_000 },
};

type Events = ProofBundle['events'];
const changed = (bundle: ProofBundle, change: (copy: ProofBundle) => void): string => {
  const copy = structuredClone(bundle);
  change(copy);
  return JSON.stringify(copy);
};

describeEachDatabase('a proof', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  let keyFile: string;
  let key: string;
  let bundle: ProofBundle;
  const open = async () => {
    engine = await createEngine({ workerId: 'test', ...config, ...database.options, signingKeyFile: keyFile });
  };

  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    keyFile = join(database.options.dataDir, 'test-key');
    key = makeLogKey(keyFile, 'holdfast/test').text;
    await open();
    await runToRest(engine, 'echo');
    const { id } = await runToRest(engine, 'echo');
    await runToRest(engine, 'echo');
    await engine.checkpointNow();
    bundle = await engine.exportProof(id, { payloads: true }, ADMIN);
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  it('is checked with a public key alone, and its state made again', () => {
    const report = checkProof(JSON.stringify(bundle), [key]);
    const { length } = bundle.events;
    expect(report).toMatchObject({ ok: true, problem: null });
    expect(report.proven.join('\n')).toMatch(new RegExp(`event ${length} is the last`));
    expect(report.proven.join('\n')).toMatch(new RegExp(`${length} of the payloads of these ${length} events`));
    expect(report.proven.join('\n')).toMatch(new RegExp(`made again up to event ${length}`));
  });

  it('has the state that an agent declares, and how its calls changed it', async () => {
    const { id } = await runToRest(engine, 'counter');
    await engine.checkpointNow();
    const proof = await engine.exportProof(id, { payloads: true }, ADMIN);
    const report = checkProof(JSON.stringify(proof), [key]);
    expect(report).toMatchObject({ ok: true, problem: null });
    expect(report.proven.join('\n')).toMatch(new RegExp(`made again up to event ${proof.events.length}`));
    expect((await engine.stateAt(id, undefined, ADMIN)).state.agentState).toEqual({
      version: 2,
      value: { n: 5, list: [{ by: 2 }, { by: 3 }], deep: { 'a/b~c': 3 } },
    });
  });

  it('without payloads proves the rest, and gives none away', async () => {
    const bare = await engine.exportProof(bundle.runId, { payloads: false }, ADMIN);
    expect(JSON.stringify(bare)).not.toMatch(/secret words|"salt"/);
    const report = checkProof(JSON.stringify(bare), [key]);
    expect(report).toMatchObject({ ok: true });
    expect(report.proven.join('\n')).toMatch(/^0 of the payloads/m);
    expect(report.notProven.join('\n')).toMatch(/after event 0: the payload of event 1 is withheld/);
    expect(report.notProven.join('\n')).toMatch(/withheld or erased/);
    // Some may be shown, and others not.
    const one = changed(bundle, ({ events }) => {
      const [, second] = events;
      if (second !== undefined) {
        Reflect.deleteProperty(second, 'data');
        Reflect.deleteProperty(second, 'salt');
      }
    });
    expect(checkProof(one, [key])).toMatchObject({ ok: true });
  });

  it('needs a key that the reader has from elsewhere', () => {
    const other = makeLogKey(join(database.options.dataDir, 'another-key'), 'holdfast/test').text;
    expect(checkProof(JSON.stringify(bundle), [])).toMatchObject({ ok: false, problem: /no public key/ });
    expect(checkProof(JSON.stringify(bundle), [other])).toMatchObject({ ok: false, problem: /not signed by a key/ });
  });

  const at = (events: Events, index: number) => {
    const event = events[index];
    if (event === undefined) throw new Error(`there is no event ${index + 1}`);
    return event as { -readonly [K in keyof typeof event]: (typeof event)[K] };
  };
  const TAMPERED: [string, (copy: ProofBundle) => void, RegExp][] = [
    [
      'a changed payload',
      ({ events }) => Object.assign(at(events, 3), { data: { a: 1 } }),
      /event 4: its payload is not/,
    ],
    [
      'a changed time',
      ({ events }) => Object.assign(at(events, 3), { at: '2001-01-01T00:00:00.000Z' }),
      /event 4: its hash/,
    ],
    ['a removed event', ({ events }) => events.splice(3, 1), /event 4: it is not the one of this place/],
    ['a removed last event', ({ events }) => events.pop(), /its end is missing/],
    ['two in each other’s place', ({ events }) => events.splice(2, 2, at(events, 3), at(events, 2)), /event 3/],
    ['an inserted event', ({ events }) => events.splice(3, 0, at(events, 3)), /event 5: it is not the one/],
    [
      'a payload without its salt',
      ({ events }) => Reflect.deleteProperty(at(events, 3), 'salt'),
      /shows a payload that nothing proves/,
    ],
    ['another run', (copy) => Object.assign(copy, { runId: 'run_other' }), /belongs to another run/],
    ['another entry', ({ entry }) => Object.assign(entry, { seq: entry.seq - 1 }), /commits to another event/],
    ['an entry that does not end', ({ entry }) => Object.assign(entry, { complete: false }), /whether the run is over/],
    ['another place', ({ entry }) => Object.assign(entry, { index: entry.index + 1 }), /not in the log/],
    ['another way up', ({ inclusion }) => inclusion.push('0'.repeat(64)), /not in the log/],
    [
      'another size',
      (copy) => Object.assign(copy, { checkpoint: copy.checkpoint.replace(/\n\d+\n/, '\n9\n') }),
      /not signed/,
    ],
    [
      'no signature',
      (copy) => Object.assign(copy, { checkpoint: copy.checkpoint.replace(/— .*\n/, '') }),
      /has a line that is no signature/,
    ],
    [
      'another way of hashing',
      ({ events }) => Object.assign(at(events, 3), { dataHash: 'md5:00' }),
      /event 4: its hash/,
    ],
    ['another format', (copy) => Object.assign(copy, { format: 'holdfast-proof-v2' }), /no proof of a format/],
  ];
  it.each(TAMPERED)('with %s proves nothing', (_name, change, says) => {
    const report = checkProof(changed(bundle, change), [key]);
    expect(report.problem).toMatch(says);
    expect(report).toMatchObject({ ok: false, proven: [] });
  });

  it('of a run that goes on or has nothing signed says so', async () => {
    const { id } = await runToRest(engine, 'echo');
    await expect(engine.exportProof(id, { payloads: true }, ADMIN)).rejects.toMatchObject({ code: 'run_not_anchored' });
    await expect(engine.exportProof(id, { payloads: true }, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({
      code: 'run_unknown',
    });
  });

  it('is compared with a later checkpoint, and one of another log is found', async () => {
    await runToRest(engine, 'echo');
    const log = await engine.checkpointNow();
    const earlier = Number(bundle.checkpoint.split('\n')[1]);
    const { proof } = await engine.getConsistency({ earlier, size: log.entries });
    const other = { note: log.checkpoint?.note ?? '', proof };
    const report = checkProof(JSON.stringify(bundle), [key], other);
    expect(report.proven.join('\n')).toMatch(
      new RegExp(`log of ${log.entries} entries begins with the one of ${earlier}`),
    );
    const forked = checkProof(JSON.stringify(bundle), [key], { ...other, proof: [...proof].reverse() });
    expect(forked.problem).toMatch(/rewritten, or forked/);
  });

  it.runIf(SLOW)(
    'holds after the key was rotated, for who trusts the old one and for who trusts the new one',
    async () => {
      const { entries } = await engine.getLog();
      const oldKeyFile = `${keyFile}.old`;
      copyFileSync(keyFile, oldKeyFile);
      // The process that works reads the new key from the file by itself.
      const next = (await rotateLogKey(keyFile, entries + 1)).text;
      const { id } = await runToRest(engine, 'echo');
      const log = await engine.checkpointNow();
      expect(log.keys).toEqual(expect.arrayContaining([key, next]));
      const later = await engine.exportProof(id, { payloads: true }, ADMIN);
      for (const trusted of [key, next])
        expect(checkProof(JSON.stringify(later), [trusted])).toMatchObject({ ok: true });
      // Without the note of the hand-over, the new key is a stranger.
      expect(
        checkProof(
          changed(later, (copy) => copy.handovers.splice(0)),
          [key],
        ),
      ).toMatchObject({ ok: false });
      expect(
        checkProof(
          changed(later, (copy) =>
            copy.handovers.splice(0, 1, copy.handovers[0]?.replace(/\n— [^\n]+\n$/, '\n') ?? ''),
          ),
          [key],
        ),
      ).toMatchObject({ ok: false });
      const newest = checkProof(JSON.stringify(later), [key]).proven[0];
      expect(newest).toContain(
        `signed by ${next}, which is trusted because ${key} handed over to it at ${entries + 1}`,
      );
      expect(await engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [], key: next });
      expect((await engine.verifyRun(bundle.runId, ADMIN)).anchor).toMatchObject({ why: null, key: next });
      // What the old key signs beyond is refused here, too.
      await runToRest(engine, 'echo');
      await engine.stop({ graceMs: 1000 });
      const old = readFileSync(oldKeyFile, 'utf8');
      const { note } = signCheckpoint(entries + 2, '0'.repeat(64), parseSigningKey(old.trim()) as SigningKey);
      appendFileSync(join(database.options.dataDir, 'checkpoints.jsonl'), `${JSON.stringify({ at: '', note })}\n`);
      await open();
      const { problems } = await engine.verifyLog(ADMIN);
      expect(problems.map(({ what }) => what).join()).toContain('its key is believed only up to fewer');
      expect(await engine.checkpointNow()).toMatchObject({ problem: null });
    },
  );

  it('is checked by a program of one file, which needs nothing but Node', () => {
    const file = join(database.options.dataDir, 'run.proof.json');
    writeFileSync(file, JSON.stringify(bundle));
    const said: string[] = [];
    expect(main([file, '--key', key], (line) => said.push(line))).toBe(0);
    expect(said.at(-1)).toBe('ok');
    const keys = join(database.options.dataDir, 'trusted');
    writeFileSync(keys, `${JSON.stringify({ key, handover: null })}\n\n${key}\n`);
    expect(main([file, '--key', `@${keys}`], (line) => said.push(line))).toBe(0);
    expect(main([file], (line) => said.push(line))).toBe(2);
    expect(main([file, '--key', '@/none'], (line) => said.push(line))).toBe(2);
    expect(said.at(-1)).toContain('cannot be read');
    // What it does not know, it does not pass over: a comparison that was asked for would be left out.
    for (const more of [['--chekpoint', keys], [keys], ['--consistency', keys], ['--checkpoint'], [`--key=${key}`]]) {
      expect(
        main([file, '--key', key, ...more], (line) => said.push(line)),
        more.join(' '),
      ).toBe(2);
      expect(said.at(-1)).toMatch(/^usage: /);
    }
    writeFileSync(file, Buffer.concat([Buffer.from(JSON.stringify(bundle)), Buffer.of(0xff)]));
    expect(main([file, '--key', key], (line) => said.push(line))).toBe(2);
    const ok = '\u001b[2K\rok\n\u2028ok';
    writeFileSync(file, `{${JSON.stringify(ok)}:1,${JSON.stringify(ok)}:1}`);
    expect(main([file, '--key', key], (line) => said.push(line))).toBe(1);
    expect(said.at(-1)).toMatch(
      /^NOT PROVEN: an object has the member "\\u\{1b\}\[2K\\u\{d\}ok\\u\{a\}\\u\{2028\}ok" twice$/,
    );
    writeFileSync(file, JSON.stringify({ ...bundle, events: bundle.events.slice(0, -1) }));
    expect(main([file, '--key', key], (line) => said.push(line))).toBe(1);
    expect(said.at(-1)).toMatch(/NOT PROVEN: .*its end is missing/);
  });
});

it('a rotation that a crash has cut off goes on with the same key, so that the old one hands over to one alone', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  const file = join(dir, 'key');
  makeLogKey(file, 'holdfast/test');
  const old = readFileSync(file, 'utf8');
  const next = (await rotateLogKey(file, 5)).text;
  // As it is when the process dies before the new key is in its place.
  copyFileSync(file, `${file}.next`);
  writeFileSync(file, old);
  expect((await rotateLogKey(file, 9)).text).toBe(next);
  expect(readFileSync(`${file}.pub`, 'utf8').split('key hand-over')).toHaveLength(2);
  // And when it dies before the copy is gone: the next rotation makes another key.
  copyFileSync(file, `${file}.next`);
  expect((await rotateLogKey(file, 12)).text).not.toBe(next);
  expect(existsSync(`${file}.next`)).toBe(false);
  expect(() => revokeLogKey(file, 'holdfast/test+00000000+AA==', 5)).toThrow(/is no earlier key/);
  expect(revokeLogKey(file, next, 5).text).toBe(next);
  rmSync(dir, { recursive: true });
});
