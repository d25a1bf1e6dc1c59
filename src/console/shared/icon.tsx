import type { JSX } from 'preact';

const Ring = (): JSX.Element => <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.6" />;

/** Marks of statuses: the shape says what the colour says. */
const SHAPES = {
  queued: (
    <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2 2.3" />
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="5.6" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" />
    </>
  ),
  waiting: <path d="M8 1.8 14.2 8 8 14.2 1.8 8z" fill="currentColor" />,
  completed: (
    <>
      <Ring />
      <path d="m5 8.2 2.1 2.1L11.2 6" fill="none" stroke="currentColor" stroke-width="1.8" />
    </>
  ),
  failed: (
    <>
      <path d="M5.3 1.6h5.4l3.7 3.7v5.4l-3.7 3.7H5.3l-3.7-3.7V5.3z" fill="currentColor" />
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="var(--surface)" stroke-width="1.7" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="5.8" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path d="m4 12 8-8" stroke="currentColor" stroke-width="1.6" />
    </>
  ),
  unknown: (
    <>
      <path d="M8 1.6 15 14H1z" fill="none" stroke="currentColor" stroke-width="1.6" />
      <path
        d="M6.4 7.2c0-2 3.2-1.9 3.2-.1 0 1.2-1.6 1.3-1.6 2.6"
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
      />
      <circle cx="8" cy="12" r=".9" fill="currentColor" />
    </>
  ),
  question: (
    <>
      <Ring />
      <path
        d="M6.2 6.6c0-2.4 3.6-2.2 3.6-.1 0 1.4-1.8 1.5-1.8 3"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
      />
      <circle cx="8" cy="11.7" r=".9" fill="currentColor" />
    </>
  ),
  time: (
    <>
      <Ring />
      <path d="M8 4.4V8l2.6 1.6" fill="none" stroke="currentColor" stroke-width="1.6" />
    </>
  ),
  money: (
    <>
      <Ring />
      <path
        d="M10 6c-.6-1.6-4-1.5-4 .2 0 2 4 1.2 4 3.3 0 1.9-3.6 2-4.2.3M8 3.6v8.8"
        fill="none"
        stroke="currentColor"
        stroke-width="1.3"
      />
    </>
  ),
} as const;

export type Shape = keyof typeof SHAPES;

export const Icon = ({ shape }: { readonly shape: Shape }): JSX.Element => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    {SHAPES[shape]}
  </svg>
);
