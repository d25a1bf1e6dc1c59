/** Why the system refused something, as its code, such as `ENOENT`; of an error without a code, its text. */
export const codeOrText = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
