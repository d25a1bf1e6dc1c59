import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeLogKey, openLogKeys, rotateLogKey } from '../../../src/engine/evidence/log-keys.js';
import { fileSecret } from '../../../src/models/secrets/secret.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { runToRest } from '../../harness/engine.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

describeBothDatabasesSlowly('what was signed last, which is kept beside the key', (kind) => {
  const t = signedEngineFor(kind);
  const key = () => t.fileOf('test-key');
  const signed = () => readFileSync(t.fileOf('checkpoints.jsonl'), 'utf8');
  const sign = async (runs: number) => {
    for (let run = 0; run < runs; run++) await runToRest(t.engine, 'echo');
    return t.engine.checkpointNow();
  };
  /** The database as it was two entries before, with other entries after. */
  const rollBack = () =>
    t.between(async (knex) => {
      await knex('holdfast.log_checkpoints').delete();
      await knex('holdfast.log_entries').where('index', '>=', 1).delete();
    });

  it.each([
    {
      what: 'a key that another machine rotated at too low a number',
      rotate: async () => {
        const other = join(t.fileOf('other'), 'key');
        mkdirSync(t.fileOf('other'));
        for (const end of ['', '.pub']) copyFileSync(`${key()}${end}`, `${other}${end}`);
        await rotateLogKey(other, 1);
        for (const end of ['', '.pub']) copyFileSync(`${other}${end}`, `${key()}${end}`);
      },
    },
    {
      what: 'a new key, where the public keys are lost',
      rotate: async () => {
        for (const end of ['', '.pub']) rmSync(`${key()}${end}`);
        makeLogKey(key(), 'holdfast/other');
      },
    },
  ])('keeps a database that was rolled back from being signed with $what', async ({ rotate }) => {
    const { entries } = await sign(3);
    const before = signed();
    await rotate();
    await rollBack();
    expect(await t.engine.checkpointNow()).toMatchObject({
      problem: expect.stringContaining(`${entries} entries was signed, and the log has`),
    });
    // Also where the log has grown as long as it was.
    expect(await sign(4)).toMatchObject({ problem: expect.stringMatching(/does not begin with|was signed, and/) });
    expect(signed()).toBe(before);
    // Who restored a backup says so, and the log is signed again.
    await t.between(async () => {
      renameSync(t.fileOf('checkpoints.jsonl'), t.fileOf('checkpoints.jsonl.kept'));
      renameSync(`${key()}.signed`, `${key()}.signed.kept`);
    });
    expect(await sign(1)).toMatchObject({ problem: null });
  });

  it('lets a database that was not rolled back be signed with a new key', async () => {
    const { entries } = await sign(2);
    await rotateLogKey(key(), entries);
    expect(await sign(1)).toMatchObject({ problem: null, checkpoint: { size: entries + 1 } });
    for (const end of ['', '.pub']) rmSync(`${key()}${end}`);
    const { text } = makeLogKey(key(), 'holdfast/other');
    expect(await sign(1)).toMatchObject({ problem: null, keys: [text], checkpoint: { size: entries + 2 } });
  });

  it('keeps a key from being rotated at fewer entries than it has signed', async () => {
    const { entries } = await sign(2);
    const before = readFileSync(key(), 'utf8');
    await expect(rotateLogKey(key(), entries - 1)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`has signed ${entries} entries`),
    });
    expect(readFileSync(key(), 'utf8')).toBe(before);
  });

  it('keeps the log from being signed where it cannot be understood', async () => {
    await sign(1);
    writeFileSync(`${key()}.signed`, '{"size":"1"}');
    expect(await sign(1)).toMatchObject({ problem: expect.stringContaining('test-key.signed does not say') });
  });
});

it('is kept beside a key that the configuration names as a secret in a file, and its earlier keys are known', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  const file = join(dir, 'key');
  const first = makeLogKey(file, 'holdfast/test').text;
  const next = (await rotateLogKey(file, 5)).text;
  const keys = await openLogKeys({ keyFile: null, key: fileSecret(file), publicKeys: [], madeIn: null });
  expect(keys.file).toBe(file);
  expect(keys.trusted.map(({ text }) => text).sort()).toEqual([first, next].sort());
  rmSync(dir, { recursive: true });
});
