import { CHAT } from './chat-wire.js';
import { answers, begins } from './wire.js';
import { type Answerer, status, writePieces } from './wire-server.js';

/** What servers of Chat Completions say to a router: an answer, a part of one, or an error. */

export const says = (text: string): Answerer => answers(CHAT, { text });

/** The first frames of an answer, and then the connection is lost. */
const hangsUp =
  (text: string, frames: number): Answerer =>
  async (response) => {
    begins(CHAT, response);
    await writePieces(response, [Buffer.from(CHAT.frames({ text }).slice(0, frames).join(''))], 20);
    response.destroy();
  };

/** Begins to answer, as providers do before they know anything, and hangs up. */
export const hangsUpEarly: Answerer = hangsUp('', 1);

/** Hangs up after a text. */
export const hangsUpAfter = (text: string): Answerer => hangsUp(text, 1 + [...text].length);

/** An error in the form of OpenAI, which others took over. */
export const refuses = (
  code: number,
  message: string,
  { type = 'error', headers = {} }: { readonly type?: string; readonly headers?: Record<string, string> } = {},
): Answerer =>
  status(code, JSON.stringify({ error: { message, type, code: type, param: null } }), {
    'content-type': 'application/json',
    ...headers,
  });
