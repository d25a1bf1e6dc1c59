import { Command } from 'commander';
import { z } from 'zod';
import type { Health } from '../../../core/ops/health.js';
import type { Stats } from '../../../core/ops/stats.js';
import { connect } from '../../connect.js';
import { json, jsonOption } from '../../options.js';
import { print, printJson, printTable } from '../../print.js';

const options = z.object({ json });

export const statsCommand = (): Command =>
  new Command('stats').addOption(jsonOption()).action(async (raw: unknown) => {
    const client = connect();
    const stats = await client.getStats();
    if (options.parse(raw).json) return printJson(stats);
    const health = await client.getHealth();
    printTable(['WHAT', 'HOW MANY'], [...aboutHealth(health), ...aboutRuns(stats), ...aboutTasks(stats)]);
    if (stats.tasks === null) print('The database did not count tasks in time.');
  });

type Row = readonly [what: string, howMany: string];

const aboutHealth = ({ status, checks }: Health): readonly Row[] => [
  [
    'server',
    [
      status,
      ...Object.entries(checks).flatMap(([name, { detail }]) => (detail === undefined ? [] : [`${name}: ${detail}`])),
    ].join('; '),
  ],
];

const aboutRuns = (stats: Stats): readonly Row[] => [
  ['runs', counts(stats.runs)],
  ...(stats.throughput === null ? [] : [['runs ended', lately(stats.throughput.runs)] as const]),
  ['waiting for a decision', String(stats.pendingInterruptions)],
  ['events', String(stats.events)],
  ['tokens', String(stats.totalTokens)],
  ['cost', `$${stats.costUsd}${stats.unpriced === 0 ? '' : `, and ${stats.unpriced} calls without a price`}`],
];

function aboutTasks({ tasks, throughput }: Stats): readonly Row[] {
  if (tasks === null || throughput === null) return [];
  return [
    ['tasks', counts(tasks.byStatus)],
    ['tasks ended', lately(throughput.tasks)],
    ['results', counts(tasks.byResult)],
    ['difficulties', counts(tasks.byDifficulty)],
    ['categories', counts(tasks.byCategory)],
    ['mean reward', tasks.meanReward === null ? '-' : tasks.meanReward.toFixed(3)],
    ['broken by the agent', String(tasks.brokenByAgent)],
    ['passed', tasks.passRate === null ? '-' : `${(tasks.passRate * 100).toFixed(1)}% of those that are over`],
  ];
}

const lately = ({ lastHour, lastDay }: { readonly lastHour: number; readonly lastDay: number }): string =>
  `${lastHour} in the last hour, ${lastDay} in the last day`;

/** What there is none of is left out. */
const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${n} ${name}`)
    .join(', ') || '0';
