import { jsonObject } from '../../core/json.js';
import { Allowance } from '../../core/limits/allowance.js';
import { schemaInLinearTime } from '../../core/limits/linear-schema.js';

/** Whether a text is JSON that fits a JSON schema; false also for a schema with parts that zod does not know. */
export function fitsSchema(text: string, schema: object): boolean {
  try {
    return schemaInLinearTime(jsonObject.parse(schema), new Allowance()).safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
