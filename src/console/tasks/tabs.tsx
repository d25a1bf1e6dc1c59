import type { JSX } from 'preact';
import { path } from '../address.js';

/** Tasks one by one, or as they were submitted together. */
export const TaskTabs = (): JSX.Element => (
  <nav class="tabs" aria-label="Tasks">
    {(['/tasks', '/batches'] as const).map((to) => (
      <a key={to} href={to} aria-current={path.value === to ? 'page' : undefined}>
        {to === '/tasks' ? 'Tasks' : 'Batches'}
      </a>
    ))}
  </nav>
);
