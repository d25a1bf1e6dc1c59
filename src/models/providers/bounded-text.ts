const MAX_CHARS = 64 * 1024;

/** The text of an error page, of which no more than 64 KiB are read; a body that breaks off is no other error. */
export async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_CHARS) break;
    }
  } catch {
    // What came before is enough.
  }
  return text;
}
