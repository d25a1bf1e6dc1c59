/** What is said of a code wherever it occurs. */
export interface ErrorRow {
  /** HTTP status of the problem+json answer. */
  readonly status: number;
  /** What a caller should do: `retry` as is, `stop` and change the call, or `pause` (a person must act). */
  readonly then: 'retry' | 'stop' | 'pause';
  readonly title: string;
  /** The way out, in one sentence. */
  readonly hint: string;
}

export const row = (status: number, then: ErrorRow['then'], title: string, hint: string): ErrorRow => ({
  status,
  then,
  title,
  hint,
});
