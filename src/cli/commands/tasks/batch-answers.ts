import { readLines } from '../../../client/messages.js';
import { type BatchAnswer, batchAnswer } from '../../../core/tasks/task-batch.js';
import { notHoldfast, ServerAway } from '../../event-stream.js';

/** Reads the answers to a batch, line by line. Throws `server_unreachable` when the connection ends before the last one. */
export async function* readAnswers(url: string, body: ReadableStream<Uint8Array>): AsyncGenerator<BatchAnswer, void> {
  for await (const line of readLines(body, (cause) => new ServerAway(url, cause))) {
    const answer = answerOf(url, line);
    yield answer;
    if ('end' in answer) return;
  }
  throw new ServerAway(url, new Error('the answer ended before the batch did'));
}

function answerOf(url: string, line: string): BatchAnswer {
  try {
    return batchAnswer.parse(JSON.parse(line));
  } catch {
    throw notHoldfast(url, 'an answer of another shape');
  }
}
