import { LANGGRAPH_PACKAGES } from '../langgraph-side.js';
import { type DatabaseKind, newPlace } from '../place.js';
import { measured } from '../process.js';
import { RESTATE_PACKAGES } from '../restate-side.js';
import type { Row, Scale } from '../row.js';
import type { Job, SideName } from '../side.js';

/** An agent of 20 tool turns, so many at once: model and tool calls make 41 steps. */

const TURNS = 20;
const WARM_UP: { readonly [S in Scale]: number } = { quick: 16, full: 32 };
const LEVELS: { readonly [S in Scale]: readonly { readonly atOnce: number; readonly runs: number }[] } = {
  quick: [
    { atOnce: 1, runs: 4 },
    { atOnce: 16, runs: 24 },
    { atOnce: 64, runs: 48 },
  ],
  full: [
    { atOnce: 1, runs: 25 },
    { atOnce: 16, runs: 100 },
    { atOnce: 64, runs: 150 },
  ],
};

const agentRow = (
  kind: DatabaseKind,
  name: string,
  title: string,
  effect: Job['effect'],
  against: SideName = 'dbos',
): Row => ({
  name,
  title,
  needsPostgres: kind === 'postgres',
  sides: ['holdfast', against],
  notQuick: effect === 'unsafe',
  measure: async (side, scale) => {
    const place = await newPlace(kind);
    const levels = LEVELS[scale];
    const work = { type: 'runs' as const, turns: TURNS, warmUp: WARM_UP[scale], levels };
    const perSecond = await measured<number[]>({ side: side as SideName, place, work, effect });
    return Object.fromEntries(
      levels.map(({ atOnce }, index) => [
        `${atOnce} at once`,
        { value: perSecond[index] ?? 0, unit: 'runs/s' as const },
      ]),
    );
  },
});

export const AGENT_ROWS: readonly Row[] = [
  agentRow('postgres', 'agent-postgres', 'agent of 20 tool turns, PostgreSQL', 'pure'),
  agentRow('pglite', 'agent-pglite', 'agent of 20 tool turns, PGlite', 'pure'),
  agentRow('postgres', 'unsafe-postgres', 'the same with an unsafe tool: intent before each call', 'unsafe'),
  {
    ...agentRow('postgres', 'langgraph', 'agent of 20 tool turns, against LangGraph', 'pure', 'langgraph'),
    onDemand: true,
    needsPackages: LANGGRAPH_PACKAGES,
  },
  {
    ...agentRow('postgres', 'restate', 'agent of 20 tool turns, against Restate', 'pure', 'restate'),
    onDemand: true,
    needsPackages: RESTATE_PACKAGES,
  },
];
