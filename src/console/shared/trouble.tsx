import type { QueryObserverResult } from '@tanstack/query-core';
import type { JSX } from 'preact';
import { NoAnswerError, ProblemError } from '../api/ask.js';
import { Text } from '../text/text.js';
import { Copy } from './id.js';

/** What went wrong: what, where, and the way out, as the server says it. */
export function Trouble({ error, again }: { readonly error: Error; readonly again?: () => void }): JSX.Element {
  const problem = error instanceof ProblemError ? error.problem : null;
  return (
    <section class="trouble" role="alert">
      <h3>
        <Text text={problem?.title ?? (error instanceof NoAnswerError ? 'No answer' : 'Not sent')} />{' '}
        {problem !== null && <code>{problem.code}</code>}
      </h3>
      <p>
        <Text text={error.message} kind="prose" />
      </p>
      {problem !== null && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ pointer, detail }) => (
            <li key={pointer + detail}>
              <code>
                <Text text={pointer} />
              </code>{' '}
              <Text text={detail} kind="prose" />
            </li>
          ))}
        </ul>
      )}
      {problem !== null && (
        <p class="hint">
          <Text text={problem.hint} kind="prose" />
        </p>
      )}
      <p class="row">
        {again !== undefined && (
          <button type="button" onClick={again}>
            Try again
          </button>
        )}
        {problem !== null && <Copy text={() => problem.requestId} name={`Copy request id`} />}
      </p>
    </section>
  );
}

/** In place of what the server has not said: nothing while it may still come, and why where it refuses. */
export const Unanswered = ({ answer }: { readonly answer: QueryObserverResult }): JSX.Element =>
  answer.error === null ? (
    <div class="loading" />
  ) : (
    <Trouble error={answer.error} again={() => void answer.refetch()} />
  );
