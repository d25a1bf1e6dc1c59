import { Command } from 'commander';
import { z } from 'zod';
import type { JsonValue } from '../../../core/json.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonArgument, jsonOption } from '../../options.js';
import { print, printJson } from '../../print.js';

const options = z.object({
  json,
  key: z.string().exactOptional(),
  run: z.string().exactOptional(),
  id: z.string().exactOptional(),
});

export const emitCommand = (): Command =>
  new Command('emit')
    .argument('<name>', 'name of the event, as runs wait for it', idArgument)
    .argument('[json]', 'what it says, as JSON', jsonArgument)
    .option('--key <key>', 'which of several events of this name')
    .option('--run <run>', 'only this run may take it')
    .option('--id <id>', 'the same id again is the same event')
    .addOption(jsonOption())
    .action(async (name: string, payload: JsonValue | undefined, raw: unknown) => {
      const { json: asJson, key, run, id } = options.parse(raw);
      const event = await connect().emitEvent(name, {
        ...(payload === undefined ? {} : { payload }),
        ...(key === undefined ? {} : { key }),
        ...(run === undefined ? {} : { runId: run }),
        ...(id === undefined ? {} : { eventId: id }),
      });
      if (asJson) return printJson(event);
      const fate = event.status === 'kept' ? 'kept: no run waits for it yet' : `settled ${event.delivered} waiting`;
      print(`event ${event.id} ${fate}`);
    });
