/** A JSON object whose fields nobody has checked. */
export type UnknownFields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsIn = (value: unknown): UnknownFields => (isFields(value) ? value : {});

/** The text of a field; empty for everything else. */
export const textIn = (fields: UnknownFields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
};
