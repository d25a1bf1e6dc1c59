import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunView } from '../../../src/core/runs/run.js';
import { type DatabaseKind, describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, eventsOf, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { PATHS, type Path } from './paths.js';
import { sights } from './probe.js';
import { REFUSED } from './refused.js';

/** Every way by which the SDK comes to the body of a tool goes through its guard. Tools of MCP servers: test/mcp. */

const CIRCUMSTANCES = [
  { name: 'in one piece', turnsPerSegment: 50, restarts: false },
  { name: 'cut after every turn, and restarted before every decision', turnsPerSegment: 1, restarts: true },
];

const config = {
  agents: PATHS.flatMap(({ agents }) => agents),
  providers: { scripts: { getModel: async () => scripted([[call('probe', {})]]) } },
};

describeEachDatabaseSlowly('paths to the bodies of tools', (kind: DatabaseKind) => {
  describe.each(CIRCUMSTANCES)('$name', ({ turnsPerSegment, restarts }) => {
    let t: TestEngine;
    beforeAll(async () => {
      t = await openTestEngine(kind, { ...config, turnsPerSegment });
    });
    afterAll(() => t.close());
    beforeEach(() => {
      sights.length = 0;
    });

    const family = async (id: string): Promise<string[]> => {
      const { items } = await t.engine.listRuns({ parent: id, limit: 50 }, ADMIN);
      return [id, ...(await Promise.all(items.map((one) => family(one.id)))).flat()];
    };
    const logOf = async (id: string) =>
      (
        await Promise.all((await family(id)).map((run) => t.engine.listEvents(run, { after: 0, limit: 1000 }, ADMIN)))
      ).flatMap(({ items }) => items);
    /** Waits until it is over, or until a person must decide. */
    const rest = async (id: string): Promise<RunView> => {
      for (let tries = 0; tries < 400; tries++) {
        const run = await restOf(t.engine, id);
        if (run.status !== 'paused' || (await waiting(id)).length > 0) return run;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`${id} waits forever`);
    };
    const waiting = async (runId: string) =>
      (await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, ADMIN)).items.filter(
        (one) => one.kind !== 'child_run',
      );
    const walk = async ({ agents, decisions = [] }: Path, grants?: string[]): Promise<RunView> => {
      const narrowed = grants === undefined ? {} : { grants };
      const { id } = await t.engine.startRun({ agent: agents[0]?.agent.name ?? '', input: 'go', ...narrowed }, ADMIN);
      let run = await rest(id);
      for (const decision of decisions) {
        const [only] = await waiting(id);
        if (only === undefined) break;
        if (restarts) await t.restart({ turnsPerSegment });
        await t.engine.decide(only.id, decision, ADMIN);
        run = await rest(id);
      }
      return run;
    };

    it.each(PATHS)('$name: without a grant nothing runs', async (path) => {
      const { way = [], tool = 'probe' } = path;
      const run = await walk(
        path,
        way.map((name) => `tool:call:${name}`),
      );
      expect(run.status).not.toBe('paused');
      expect(sights).toEqual([]);
      const checked = (await logOf(run.id)).filter(({ kind: what }) => what === 'call.checked');
      expect(checked.map(({ data }) => data)).toContainEqual(
        expect.objectContaining({
          tool,
          decision: 'deny',
          checks: [expect.objectContaining({ capability: `tool:call:${tool}`, effect: 'deny' })],
        }),
      );
    });

    it.each(PATHS)('$name: it runs when it was judged and its intent is committed', async (path) => {
      const { bodies = 1, tool = 'probe' } = path;
      const run = await walk(path);
      expect(run).toMatchObject({ status: 'completed', error: null });
      expect(sights).toHaveLength(bodies);
      for (const sight of sights) expect(sight).toMatchObject({ checked: true, intent: true });
      const log = await logOf(run.id);
      const started = log.filter(
        ({ kind: what, data }) => what === 'call.started' && (data as { tool: string }).tool === tool,
      );
      expect(new Set(started.map(({ data }) => (data as { callId: string }).callId))).toEqual(
        new Set(sights.map(({ callId }) => callId)),
      );
      for (const id of await family(run.id))
        expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    });
  });

  describe('that are refused', () => {
    let t: TestEngine;
    beforeAll(async () => {
      t = await openTestEngine(kind, { agents: REFUSED.map(({ agent }) => agent) });
    });
    afterAll(() => t.close());
    beforeEach(() => {
      sights.length = 0;
    });

    it.each(REFUSED)('$name', async ({ agent, ends, says, guarded = false }) => {
      const run = await runToRest(t.engine, agent.agent.name);
      const items = await eventsOf(t.engine, run.id);
      const ended = items.filter(({ kind: what }) => what === 'call.finished').map(({ data }) => data);
      expect(JSON.stringify([run.error, ended])).toMatch(says);
      expect(run.status).toBe(ends);
      // What stood in for an agent behind a tool worked in its place, through the guards.
      expect(sights).toEqual(guarded ? [expect.objectContaining({ checked: true, intent: true })] : []);
      expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    });
  });
});
