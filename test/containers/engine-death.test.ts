import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeDockerSlowly } from '../harness/docker.js';
import { endedOf, never, newEngine, newIdentity, noSecrets, shell } from './environments.js';
import { killEngine, ownEngine } from './own-engine.js';

/** The engine itself is killed. It is one of this suite's own. */

describeDockerSlowly('an engine that is killed', () => {
  const dir = mkdtempSync(join(tmpdir(), 'hf-'));
  afterAll(() => {
    ownEngine('down', dir);
    rmSync(dir, { recursive: true, force: true });
  });

  const begun = async (environment: Awaited<ReturnType<ReturnType<typeof newEngine>['open']>>) => {
    while (!(await environment.read('/work/begun', 10, never).catch(() => null)));
  };

  const kinds = [
    { what: 'keeps its containers', flags: ['--live-restore'], survives: true },
    { what: 'loses its containers', flags: [], survives: false },
  ];
  for (const { what, flags, survives } of kinds) {
    const text = 'echo begun >begun; for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done; echo run >>effects; exit 3';
    it(`and ${what}: a command has one outcome, and no one waits forever`, { timeout: 300_000 }, async () => {
      const host = ownEngine('up', dir, ...flags);
      const engine = newEngine(host, 60_000);
      const identity = newIdentity();
      const environment = await engine.open(identity, {
        begun: false,
        starting: async () => {},
        secrets: noSecrets,
        signal: never,
      });
      const asked = shell(text);
      const outcome = environment.run(asked, never);
      await begun(environment);
      await killEngine(dir);
      ownEngine('up', dir, ...flags);
      const found = await outcome;
      if (survives)
        expect(found).toMatchObject({ type: 'ended', exitCode: 3, stdout: { text: '1\n2\n3\n4\n5\n6\n7\n8\n' } });
      else expect(found).toEqual({ type: 'unknown' });
      expect(await environment.run(asked, never)).toEqual(found);
      const seen = endedOf(await environment.run(shell('cat begun; cat effects 2>/dev/null'), never));
      expect(seen.stdout.text).toBe(survives ? 'begun\nrun\n' : 'begun\n');
      await engine.remove(identity, never);
      ownEngine('down', dir);
    });
  }

  it('and stays away is an error with a name, also for who waits for a command', { timeout: 120_000 }, async () => {
    const host = ownEngine('up', dir);
    const engine = newEngine(host, 500);
    const environment = await engine.open(newIdentity(), {
      begun: false,
      starting: async () => {},
      secrets: noSecrets,
      signal: never,
    });
    const outcome = environment.run(shell('echo begun >begun; sleep 1000'), never).catch((error: unknown) => error);
    await begun(environment);
    await killEngine(dir);
    expect(await outcome).toMatchObject({ code: 'engine_unreachable' });
  });
});
