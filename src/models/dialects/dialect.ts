/** What a model thought before an answer, as its provider said it. */
export interface Thought {
  readonly text: string;
  /** The field of the message that had the text. Null: the text came in parts of the content, or in `details` alone. */
  readonly field: 'reasoning' | 'reasoning_content' | null;
  /** `reasoning_details` of OpenRouter and others. Only the provider can read some of its entries. */
  readonly details: readonly UnknownFields[];
}

/** One answer of the model in the history, as this provider gave it. */
export interface PastTurn {
  readonly model: string;
  /** Null: the turn has calls alone. */
  readonly text: string | null;
  readonly thought: Thought | null;
  /** Per call: fields of the provider's own that came with the call. */
  readonly calls: readonly UnknownFields[];
}

/** How one provider of Chat Completions differs from the others: what it takes back, and how it counts. */
export interface Dialect {
  readonly name: string;
  /** Returns the fields of an earlier answer that this API takes, or needs, beside content and calls. */
  readonly turnFields: (turn: PastTurn) => UnknownFields;
  /** Returns the fields of the call at `index` that this API takes, or needs, beside id and function. */
  readonly callFields: (turn: PastTurn, index: number) => UnknownFields;
  /** The content of an earlier answer that has calls alone. */
  readonly emptyContent: null | '';
  /** Whether `completion_tokens` leaves out `reasoning_tokens`. It decides only where the server gives no `total_tokens`. */
  readonly reasoningBeside: boolean;
  /** Returns the request as this API takes it. */
  readonly request: (body: UnknownFields) => UnknownFields;
}

const nothing = (): UnknownFields => ({});

/** Sends nothing that the published Chat Completions API of OpenAI does not have. Strict servers refuse everything else. */
export const STANDARD: Omit<Dialect, 'name'> = {
  turnFields: nothing,
  callFields: nothing,
  emptyContent: null,
  reasoningBeside: false,
  request: (body) => body,
};

/** Returns a text of reasoning under the name of a field. Without a text nothing is sent. */
export const thoughtAs =
  (field: 'reasoning' | 'reasoning_content') =>
  ({ thought }: PastTurn): UnknownFields =>
    thought === null || thought.text === '' ? {} : { [field]: thought.text };

/** A JSON object whose fields no one has checked. */
export type UnknownFields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const fieldsIn = (value: unknown): UnknownFields => (isFields(value) ? value : {});

/** The text of a field; empty for everything else. */
export const textIn = (fields: UnknownFields, name: string): string => {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
};
