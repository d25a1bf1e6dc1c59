import { type BatchAnswer, batchAnswer } from '../../../core/tasks/task-batch.js';
import { notHoldfast, ServerAway } from '../../event-stream.js';

/** Reads the answers to a batch, line by line. Throws `server_unreachable` when the connection ends before the last one. */
export async function* readAnswers(url: string, body: ReadableStream<Uint8Array>): AsyncGenerator<BatchAnswer, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const read = await reader.read().catch((cause: unknown) => {
        throw new ServerAway(url, cause);
      });
      if (read.done) throw new ServerAway(url, new Error('the answer ended before the batch did'));
      const lines = (rest + read.value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const answer = answerOf(url, line);
        yield answer;
        if ('end' in answer) return;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function answerOf(url: string, line: string): BatchAnswer {
  try {
    return batchAnswer.parse(JSON.parse(line));
  } catch {
    throw notHoldfast(url, 'an answer of another shape');
  }
}
