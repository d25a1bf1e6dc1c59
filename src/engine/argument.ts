import { z } from 'zod';
import { INSTALLATION_ROLES, ROLES } from '../core/caller.js';
import { fieldErrorsOf, invalidRequest, namesLeftOut } from '../core/field-errors.js';
import { isObject, nameText, nameWithoutControls } from '../core/json.js';

/** An argument of a method: how errors name it, and its shape. */
export interface Argument {
  /** Empty: the request, whose fields are named as in the body of an HTTP request. */
  readonly name: string;
  readonly schema: z.ZodType;
}

const argument = (name: string, schema: z.ZodType): Argument => ({ name, schema });

const text = z.string();
/** Columns of this kind are int4. A place after every one of them is one, too: nothing is there. */
const whole = z.int().max(2 ** 31 - 1);

/** A text that names something. What names nothing is unknown, and not invalid. */
export const named = (name: string): Argument => argument(name, text);

export const id = named('id');
export const reason = argument('reason', text.min(1).max(8192).nullable());
export const seq = argument('seq', whole.min(0));
export const idempotencyKey = argument('idempotencyKey', text.min(1).max(255).optional());

/** Says who asks. Members that it does not know belong to the program. */
export const caller = argument(
  'caller',
  z.object({
    actor: nameText,
    role: z.enum(ROLES),
    tenant: nameWithoutControls,
    installation: z.enum(INSTALLATION_ROLES).optional(),
  }),
);

const signal = z.instanceof(AbortSignal, { error: 'expected an AbortSignal' });
const waitMs = z.number().min(0).optional();
const limit = whole.min(1);
const after = z.int().min(0);

/** A page of a list: `limit` is needed. */
export const page = { limit, cursor: text.optional() };
export const place = argument('options', z.strictObject({ after, limit }));
export const placeInLog = { after, limit };

const options = (shape: z.core.$ZodLooseShape): Argument => argument('options', z.strictObject(shape).optional());
export const untilSignal = options({ signal: signal.optional() });
export const waiting = options({ waitMs, signal: signal.optional() });
export const steps = options({ after: after.optional(), limit: limit.optional(), signal: signal.optional() });
/** What a stream is read with, which has a signal to end it. */
export const following = argument('options', z.object({ after, signal }));
export const systemPlace = { after: z.union([z.int().min(0), z.literal('now')]) };
export const ending = { signal };

export const filter = (shape: z.core.$ZodLooseShape): Argument => argument('filter', z.strictObject(shape));
export const optionalText = text.optional();
export const optionalTime = z.date().optional();

/** A request with a shape that is checked here. */
export const request = (schema: z.ZodType): Argument => argument('', schema);
/** A request whose shape its operation checks itself. */
export const checkedLater = request(z.custom(isObject, { error: 'expected an object' }));
export const anything = argument('', z.unknown());
export const argumentOf = argument;

/** Throws `invalid_request`, which names every argument that is not what the method takes. */
export function checkArguments(method: string, shapes: readonly Argument[], given: readonly unknown[]): void {
  const wrong = shapes.flatMap(({ name, schema }, index) => {
    const parsed = schema.safeParse(given[index]);
    const prefix = name === '' ? '' : `/${name}`;
    return parsed.success ? namesLeftOut(given[index], parsed.data, prefix) : fieldErrorsOf(parsed.error, prefix);
  });
  if (wrong.length > 0) throw invalidRequest(wrong, `engine.${method}`);
}
