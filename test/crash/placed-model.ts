import { functionModel } from '../../src/index.js';
import { type call, resultsIn, say } from '../harness/script.js';
import { place } from './place.js';

/**
 * A model that asks for the calls of each turn in order and then says what it was told, and dies where it is told to:
 * at `<name>:<turn>`. The conversation alone decides which turn it is; results of others before its own count as `skipped`.
 */
export const placedModel = (name: string, turns: readonly ReturnType<typeof call>[][], skipped = 0) =>
  functionModel(name, async (request) => {
    const results = resultsIn(request.input);
    let left = results.length - skipped;
    let turn = 0;
    for (const calls of turns) {
      if (left < calls.length) break;
      left -= calls.length;
      turn++;
    }
    place(`${name}:${turn}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return turns[turn] ?? [say(results.map(({ text }) => text).join(' | '))];
  });
