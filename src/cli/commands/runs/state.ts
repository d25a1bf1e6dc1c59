import { Command, Option } from 'commander';
import { z } from 'zod';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption, whole } from '../../options.js';
import { print, printJson } from '../../print.js';
import { oneLine } from '../../run-text.js';

const options = z.object({ json, at: z.number().optional() });
const SEQ_MAX = 999_999_999;

export const stateCommand = (): Command =>
  new Command('state')
    .argument('<run>', 'id of a run', idArgument)
    .addOption(
      new Option('--at <event>', 'after this event, by its number; the last one without').argParser(whole(1, SEQ_MAX)),
    )
    .addOption(jsonOption())
    .action(async (id: string, raw: unknown) => {
      const { json: asJson, at } = options.parse(raw);
      const found = await connect().stateAt(id, { at });
      if (asJson) return printJson(found);
      print(`event ${found.seq} of ${found.runId}`);
      for (const [name, value] of Object.entries(found.state)) print(`${name.padEnd(16)} ${oneLine(value)}`);
      print(`hash             ${found.stateHash}`);
    });
