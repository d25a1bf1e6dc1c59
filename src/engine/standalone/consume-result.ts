/** What a result of the Agents SDK's `run` has, streamed or not. */
export interface SdkResult {
  readonly finalOutput?: unknown;
  /** Only of a streamed result: settles when its stream is over. */
  readonly completed?: Promise<void>;
}

/**
 * Waits until a result is complete, streamed or not, and gives it back, so that `finalOutput` and `interruptions` can be
 * read. The events of the stream stay there for whoever reads them. Throws what the run threw.
 */
export async function consumeResult<R extends SdkResult>(result: R | Promise<R>): Promise<R> {
  const given = await result;
  await given.completed;
  return given;
}
