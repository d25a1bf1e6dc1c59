import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { reportedId } from '../../src/containers/docker/engine-answers.js';
import { EngineConnection } from '../../src/containers/docker/engine-connection.js';
import { engineIdentity, IDENTITY_VOLUME } from '../../src/containers/docker/engine-identity.js';
import { describeDockerSlowly } from '../harness/docker.js';
import { never } from './environments.js';
import { ownEngine } from './own-engine.js';

/** Two engines of this suite's own, which have never been used. */

describeDockerSlowly('the identity of an engine', () => {
  const dirs = [mkdtempSync(join(tmpdir(), 'hf-')), mkdtempSync(join(tmpdir(), 'hf-'))];
  afterAll(() => {
    for (const dir of dirs) {
      ownEngine('down', dir);
      rmSync(dir, { recursive: true, force: true });
    }
  });
  const identities = (host: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () => engineIdentity(new EngineConnection({ host, certPath: null }, 5000), never)),
    );

  it('is made once, stays, and is not that of a clone', { timeout: 300_000 }, async () => {
    const [one = '', other = ''] = dirs.map((dir) => ownEngine('up', dir));
    const many = new Set(await identities(one, 8));
    expect(many.size).toBe(1);
    const [first = ''] = many;
    const reported = (host: string) => reportedId(new EngineConnection({ host, certPath: null }, 5000), never);
    expect(first).not.toBe(await reported(one));
    expect(await identities(other, 1)).not.toEqual([first]);

    ownEngine('down', dirs[0] ?? '');
    expect(await identities(ownEngine('up', dirs[0] ?? ''), 1)).toEqual([first]);

    // An engine that a former build has used keeps its name.
    const { docker } = new EngineConnection({ host: other, certPath: null }, 5000);
    await docker.getVolume(IDENTITY_VOLUME).remove();
    await docker.createVolume({ Name: 'left', Labels: { 'holdfast.managed': '1' } });
    expect(await identities(other, 2)).toEqual([await reported(other), await reported(other)]);
    await docker.getVolume('left').remove();
    expect(await identities(other, 1)).toEqual([await reported(other)]);
  });
});
