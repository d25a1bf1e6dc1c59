import { DBOSJSON } from '@dbos-inc/dbos-sdk/internal/serialization';
import { isJson } from '../../core/json.js';

/** What DBOS marks its own format by. */
const MARK = '__dbos_serializer';

const isMarked = (value: unknown): boolean => typeof value === 'object' && value !== null && MARK in value;

/**
 * How what steps give is kept: JSON as it is. Everything else, like errors, is kept in the format of DBOS, which goes through each
 * value several times to find what JSON does not have.
 */
export const STEP_FORMAT = {
  name: () => 'holdfast_json',
  stringify: (value: unknown): string =>
    isJson(value) && !isMarked(value) ? JSON.stringify(value) : DBOSJSON.stringify(value),
  parse: (text: string | null | undefined): unknown => {
    if (text === null || text === undefined) return null;
    const value: unknown = JSON.parse(text);
    return isMarked(value) ? DBOSJSON.parse(text) : value;
  },
};
