import { z } from 'zod';

/** Whether a text is JSON that fits a JSON schema; false also for a schema with parts that zod does not know. */
export function fitsSchema(text: string, schema: object): boolean {
  try {
    return z.fromJSONSchema({ ...schema }).safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
