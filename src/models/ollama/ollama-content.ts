import { type protocol, UserError } from '@openai/agents';
import { mediaBase64 } from './ollama-media.js';

/** The text and the images of one message. */
export interface OllamaContent {
  readonly text: string;
  readonly images: readonly string[];
}

const joined = (texts: readonly string[], images: readonly string[]): OllamaContent => ({
  text: texts.join('\n'),
  images,
});

const refused = (part: string) => new UserError(`Ollama cannot take the part "${part}" of a message.`);

export function userContent(content: string | readonly protocol.UserContent[]): OllamaContent {
  if (typeof content === 'string') return joined([content], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content) {
    if (part.type === 'input_text') texts.push(part.text);
    else if (part.type === 'input_image') images.push(mediaBase64(part.image, 'input_image'));
    else if (part.type === 'audio') images.push(mediaBase64(part.audio, 'audio'));
    else throw refused(part.type);
  }
  return joined(texts, images);
}

export function assistantContent(content: string | readonly protocol.AssistantContent[]): OllamaContent {
  if (typeof content === 'string') return joined([content], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content) {
    if (part.type === 'output_text') texts.push(part.text);
    else if (part.type === 'refusal') texts.push(part.refusal);
    else if (part.type === 'image') images.push(mediaBase64(part.image, 'image'));
    else if (typeof part.transcript === 'string') texts.push(part.transcript);
    else throw refused(part.type);
  }
  return joined(texts, images);
}

export function resultContent(output: protocol.FunctionCallResultItem['output']): OllamaContent {
  if (typeof output === 'string') return joined([output], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of Array.isArray(output) ? output : [output]) {
    if (part.type === 'input_text' || part.type === 'text') texts.push(part.text);
    else if (part.type === 'input_image' || part.type === 'image') images.push(mediaBase64(imageOf(part), part.type));
    else if (part.type === 'input_file' || part.type === 'file') throw refused(part.type);
    // What a tool of another library left there is JSON for the model.
    else texts.push(JSON.stringify(part) ?? '');
  }
  return joined(texts, images);
}

/** A result names its image in five ways; of those, only the data itself is of use here. */
function imageOf(part: protocol.InputImage | protocol.ToolOutputImage): unknown {
  const { image } = part;
  if (typeof image !== 'object' || image === null) return image;
  if ('data' in image) return image.data;
  return 'url' in image ? image.url : image;
}
