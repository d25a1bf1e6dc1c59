import { Command } from 'commander';
import { z } from 'zod';
import { isRecord } from '../../../core/json.js';
import type { RunDelta } from '../../../core/log/delta.js';
import type { RunEvent } from '../../../core/log/event.js';
import { connect } from '../../connect.js';
import { EXIT_CODES } from '../../exit-codes.js';
import { followRun } from '../../follow-run.js';
import { idArgument, json } from '../../options.js';
import { cut, jsonText, plainLines, print, printPiece, width } from '../../print.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';
import { Story } from '../../story.js';
import { hasFailed } from './wait.js';

const options = z.object({ json, retryFor });

export const watchCommand = (): Command =>
  new Command('watch')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(retryOption())
    .option('--json', 'one event per line')
    .action(async (id: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const server = new ServerReturn(asked.retryFor);
      // Pieces of answers are for people: a line that grows is no line.
      const isLive = process.stdout.isTTY && !asked.json;
      const show = asked.json ? (one: RunEvent | RunDelta) => print(jsonText(one)) : shownLive(isLive);
      for await (const one of followRun(isLive ? client.streamRun : client.streamEvents, id, server)) show(one);
      const run = await server.ask(() => client.getRun(id));
      if (!asked.json) {
        const cost = run.costUsd === null ? 'cost unknown' : `${run.costUsd} dollars`;
        print(`           ${run.turns} turns, ${run.usage.totalTokens} tokens, ${cost}`);
      }
      if (hasFailed(run)) process.exitCode = EXIT_CODES.failed.code;
    });

/** What of an answer is on the last line. */
interface Saying {
  readonly attempt: string;
  readonly turn: number;
  readonly text: string;
}

/** Prints the story. What a model says is printed while it says it, and not a second time when its answer is there. */
function shownLive(isLive: boolean): (one: RunEvent | RunDelta) => void {
  const story = new Story();
  let saying: Saying | null = null;
  let isLineOpen = false;
  const endLine = (more: string): void => {
    if (isLineOpen) printPiece(`${more}\n`);
    isLineOpen = false;
  };
  const event = (one: RunEvent): void => {
    const isAnswer = one.kind === 'model.responded' && isRecord(one.data) && one.data['turn'] === saying?.turn;
    const wasSaid = isAnswer && isLineOpen;
    if (isAnswer) saying = null;
    const lines = wasSaid ? [] : story.tell(one);
    if (wasSaid || lines.length > 0) endLine(wasSaid ? '' : '…');
    for (const line of lines) print(isWhole(one) ? line : cut(line, width()));
  };
  const delta = (one: RunDelta): void => {
    if (one.type === 'replaced' && one.attempt === saying?.attempt) {
      endLine('… (answered again)');
      saying = null;
    }
    if (one.type !== 'text' || (saying !== null && saying.attempt !== one.attempt)) return;
    const said = saying?.text ?? '';
    saying = { attempt: one.attempt, turn: one.turn, text: said + one.delta };
    // An event came between: from the beginning.
    printPiece(indented(isLineOpen ? one.delta : `says       ${saying.text}`));
    isLineOpen = true;
  };
  return (one) => {
    if ('seq' in one) event(one);
    else if (isLive) delta(one);
  };
}

const indented = (text: string): string => plainLines(text).replaceAll('\n', `\n${' '.repeat(11)}`);

/** What people asked for and what came of it is printed whole; what calls say is cut to the width. */
const isWhole = ({ kind }: RunEvent): boolean => !kind.startsWith('call.') && kind !== 'task.verified';
