import { z } from 'zod';

/** Where what a view shows is not what the log of its run says. */
export const integrity = z
  .array(
    z.object({
      table: z.string(),
      row: z.string(),
      column: z.string().nullable().describe('Null: the row as a whole.'),
      what: z.string(),
    }),
  )
  .describe(
    'Rows that do not say what the log says, at most 20: someone changed the database. Empty: what is shown agrees.',
  )
  .meta({ id: 'Integrity' });
export type Integrity = z.infer<typeof integrity>;

const SHOWN_MAX = 100;
/** The beginning of the value of a column, as JSON. */
export const shown = (cell: string | number | boolean | null): string => {
  const text = JSON.stringify(cell);
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
};
