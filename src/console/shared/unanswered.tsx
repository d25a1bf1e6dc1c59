import type { QueryObserverResult } from '@tanstack/query-core';
import type { JSX } from 'preact';
import { Trouble } from './trouble.js';

/** In place of what the server has not said: nothing while it may still come, and why where it refuses. */
export const Unanswered = ({ answer }: { readonly answer: QueryObserverResult }): JSX.Element =>
  answer.error === null ? (
    <div class="loading" />
  ) : (
    <Trouble error={answer.error} again={() => void answer.refetch()} />
  );
