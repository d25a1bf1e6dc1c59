import { Command } from 'commander';
import { z } from 'zod';
import type { RunDelta } from '../../../core/log/delta.js';
import type { RunEvent } from '../../../core/log/event.js';
import { PAGE_LIMIT } from '../../../core/page.js';
import type { Client } from '../../client.js';
import { connect } from '../../connect.js';
import { followRun } from '../../follow-run.js';
import { idArgument, json } from '../../options.js';
import { itemsOf } from '../../pages.js';
import { cut, jsonText, print, width } from '../../print.js';
import { oneLine } from '../../run-text.js';
import { retryFor, retryOption, ServerReturn } from '../../server-return.js';

const options = z.object({ json, retryFor, follow: z.boolean().default(false), deltas: z.boolean().default(false) });

export const eventsCommand = (): Command =>
  new Command('events')
    .argument('<run>', 'id of a run', idArgument)
    .option(
      '--follow',
      'goes on with the events that come until the run is over; a restart of the server in ' + 'between is waited for',
    )
    .option(
      '--deltas',
      'follows, and also prints what the models of a [streaming](models/streaming.md) run say while ' + 'they answer',
    )
    .addOption(retryOption())
    .option('--json', 'one document per line')
    .action(async (run: string, raw: unknown) => {
      const asked = options.parse(raw);
      const client = connect();
      const { streamEvents, streamRun } = client;
      const stream = asked.deltas ? streamRun : streamEvents;
      const server = new ServerReturn(asked.retryFor);
      for await (const one of asked.follow || asked.deltas
        ? followRun(stream, run, server)
        : recordedEvents(client, run)) {
        print(asked.json ? jsonText(one) : 'seq' in one ? lineOf(one) : lineOfDelta(one));
      }
    });

export const recordedEvents = (client: Client, run: string): AsyncGenerator<RunEvent, void> =>
  itemsOf((cursor) => client.listEvents(run, { limit: PAGE_LIMIT, cursor }));

const lineOf = ({ seq, at, kind, data }: RunEvent): string =>
  cut(`${String(seq).padStart(4)}  ${at}  ${kind.padEnd(22)}  ${data === null ? '(erased)' : oneLine(data)}`, width());

function lineOfDelta(delta: RunDelta): string {
  if (delta.type === 'dropped') return `      … ${delta.count} deltas were dropped`;
  if (delta.type === 'replaced') return `      … turn ${delta.turn} is answered again`;
  const what = delta.type === 'arguments' ? `arguments of ${delta.tool ?? delta.callId ?? 'a call'}` : delta.type;
  return cut(`      … ${what}: ${oneLine(delta.delta)}`, width());
}
