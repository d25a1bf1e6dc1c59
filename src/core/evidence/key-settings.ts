import type { FieldError } from '../errors/errors.js';
import { OBJECT_STORE_KEYS } from '../exports/bucket-place.js';
import { HUB_KEYS } from '../exports/hub-place.js';
import { MODEL_PROVIDERS } from '../models/model-provider-table.js';
import { header, type Kind, modelServer, optional, type Setting, type Variables, valueIn } from '../setting.js';

/** Settings of keys: each is read when the first request needs it, from its variable or from the file that another one names. */

/** Variables of keys. A key is in one place: in its variable, or in the file of the variable with `_FILE` behind its name. */
export const KEY_VARIABLES = [
  ...Object.values({ ...OBJECT_STORE_KEYS, ...HUB_KEYS }).map(({ variable }) => variable),
  ...Object.values(MODEL_PROVIDERS).map(({ keyVariable }) => keyVariable),
];

/** `path` is what a path of a file may be. */
export function keySettings(path: Kind<string>): readonly Setting<unknown>[] {
  const key = (variable: string, description: string): readonly Setting<unknown>[] => [
    optional(variable, header, description),
    optional(`${variable}_FILE`, path, `File with that key, instead of \`${variable}\`.`),
  ];
  const ofStores = Object.values({ ...OBJECT_STORE_KEYS, ...HUB_KEYS }).flatMap(({ variable, description }) =>
    key(variable, `${description}.`),
  );
  const ofProviders = Object.values(MODEL_PROVIDERS).flatMap(
    ({ title, keyVariable, urlVariable, baseURL, needsKey }) => [
      ...key(keyVariable, `Key of ${title}${needsKey ? '' : ', if the server wants one'}.`),
      ...(urlVariable === null
        ? []
        : [optional(urlVariable, modelServer, `Address of ${title}. Without one: \`${baseURL}\`.`)]),
    ],
  );
  return [...ofStores, ...ofProviders];
}

/** A key is in one place. */
export const doubleKeys = (env: Variables): readonly FieldError[] =>
  KEY_VARIABLES.flatMap((key) => {
    const file = `${key}_FILE`;
    if (valueIn(env, key) === undefined || valueIn(env, file) === undefined) return [];
    return [{ pointer: `/${file}`, detail: `${key} and ${file} are both set; expected one of them.` }];
  });
