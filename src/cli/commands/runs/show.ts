import { Command } from 'commander';
import { z } from 'zod';
import { PAGE_LIMIT } from '../../../core/page.js';
import type { ReadRun } from '../../../core/queue/queue-wait.js';
import { isOver, type ListedRun } from '../../../core/runs/run.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { cut, plain, print, printJson, width } from '../../print.js';
import { oneLine, printInterruption, printRun } from '../../run-text.js';

const options = z.object({ json });

export const showCommand = (): Command =>
  new Command('show')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const client = connect();
      const run = await client.getRun(id);
      const waits =
        run.interruptions.length === 0
          ? []
          : (await client.listInterruptions({ run: id, status: 'pending', limit: PAGE_LIMIT })).items;
      const children = (await client.listRuns({ parent: id, limit: PAGE_LIMIT })).items;
      if (options.parse(raw).json) return printJson({ run, interruptions: waits, children });
      printRun(run);
      printMoreOf(run, children);
      for (const one of waits) printInterruption(one);
      for (const line of nextSteps(run)) print(`next     ${line}`);
    });

function printMoreOf(run: ReadRun, children: readonly ListedRun[]): void {
  print(cut(`input    ${oneLine(run.input)}`, width()));
  print(`created  ${run.createdAt}`);
  if (run.completedAt !== null) print(`over     ${run.completedAt}`);
  if (run.waitsFor !== null) print(`queued   ${plain(run.waitsFor.detail)}`);
  if (run.sessionId !== null) print(`session  ${plain(run.sessionId)}`);
  if (run.parentRunId !== null) print(`parent   ${run.parentRunId}`);
  if (run.forkedFrom !== null) print(`fork of  ${run.forkedFrom.runId}, up to event ${run.forkedFrom.seq}`);
  if (Object.keys(run.metadata).length > 0) print(cut(`metadata ${oneLine(run.metadata)}`, width()));
  for (const child of children) print(`child    ${child.id} ${child.status} (${plain(child.agent)})`);
}

/** Commands that fit how the run is. */
function nextSteps({ id, status, interruptions }: ReadRun): readonly string[] {
  if (interruptions.length > 0) return [`holdfast inbox --run ${id}`, `holdfast watch ${id}`];
  if (!isOver(status)) return [`holdfast watch ${id}`, `holdfast cancel ${id}`];
  const read = [`holdfast trajectory ${id}`, `holdfast verify ${id}`];
  return status === 'failed' ? [`holdfast retry ${id}`, ...read] : read;
}
