import { Command } from 'commander';
import { z } from 'zod';
import type { PatchOperation } from '../../../core/difference.js';
import type { RunDiff } from '../../../core/replay/run-diff.js';
import { connect } from '../../connect.js';
import { idArgument, json, jsonOption } from '../../options.js';
import { cut, plain, print, printJson, width } from '../../print.js';
import { oneLine } from '../../run-text.js';

const options = z.object({ json });

export const diffCommand = (): Command =>
  new Command('diff')
    .argument('<a>', 'id of a run', idArgument)
    .argument('<b>', 'id of another run, such as a fork of it', idArgument)
    .addOption(jsonOption())
    .action(async (a: string, b: string, raw: unknown) => {
      const diff = await connect().diffRuns(a, b);
      if (!diff.same) process.exitCode = 1;
      if (options.parse(raw).json) printJson(diff);
      else printDiff(diff);
    });

function printDiff({ a, b, same, start, common, firstDifference, rest }: RunDiff): void {
  if (start.length > 0) print('They were started with something else:');
  printOperations(start);
  if (firstDifference === null) {
    print(`${same ? 'The same' : 'From there the same'}: ${common} events.`);
    return;
  }
  print(`${common} events are the same. Then`);
  printPlace(a, firstDifference.a);
  printPlace(b, firstDifference.b);
  printOperations(firstDifference.difference);
  print('From there on:');
  printRest(a, rest.a);
  printRest(b, rest.b);
}

const printFitting = (text: string): void => print(cut(text, width()));

const newValue = (operation: PatchOperation): string => ('value' in operation ? ` ${oneLine(operation.value)}` : '');

function printOperations(operations: readonly PatchOperation[]): void {
  for (const one of operations) printFitting(`  ${one.op} ${plain(one.path)}${newValue(one)}`);
}

type Place = NonNullable<RunDiff['firstDifference']>['a'];

const printPlace = (run: string, place: Place): void =>
  printFitting(
    `  ${plain(run)} ${place === null ? 'ends' : `event ${place.seq}: ${plain(place.kind)} ${oneLine(place.data)}`}`,
  );

function printRest(run: string, { events, turns, calls, usage, costUsd, status }: RunDiff['rest']['a']): void {
  const cost = costUsd === null ? 'unknown cost' : `$${costUsd}`;
  print(
    `  ${plain(run)} ${status}: ${events} events, ${turns} turns, ${calls} calls, ${usage.totalTokens} tokens, ${cost}`,
  );
}
