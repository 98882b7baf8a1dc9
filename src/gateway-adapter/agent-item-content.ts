import { encodeItem, type AgentItem } from './agent-item-codec.ts'

/** Text where all of it is text, so that it can be searched; else the parts of a chat-completions message. */
export function contentOf(content: unknown): unknown {
  const parts = partsOf(content).map(toChatPart)
  const texts = parts.flatMap((part) => ('text' in part ? [part.text] : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}

export function textOf(content: unknown): string {
  return partsOf(content)
    .map(toChatPart)
    .flatMap((part) => ('text' in part ? [part.text] : []))
    .join('\n')
}

/** The parts of a stored message of a user, as OpenAI Agents writes them. */
export function toInputParts(content: unknown): AgentItem[] {
  return partsOf(content)
    .map(toChatPart)
    .map((part) =>
      'text' in part
        ? { type: 'input_text', text: part.text }
        : { type: 'input_image', image: part.image_url.url },
    )
}

type ChatPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

function partsOf(content: unknown): unknown[] {
  if (content === null || content === undefined || content === '') return []
  return Array.isArray(content) ? content : [content]
}

function toChatPart(part: unknown): ChatPart {
  if (typeof part !== 'object' || part === null) return { type: 'text', text: String(part) }
  const { type, text, refusal, transcript, image, image_url: imageUrl } = part as AgentItem
  for (const said of [text, refusal, transcript]) {
    if (typeof said === 'string') return { type: 'text', text: said }
  }
  for (const source of [image, imageUrl]) {
    const url =
      typeof source === 'object' && source !== null ? (source as AgentItem)['url'] : source
    if (typeof url === 'string') return { type: 'image_url', image_url: { url } }
  }
  // A file or a sound in a message: that there is one must be seen, the item has the rest.
  if (typeof type === 'string') return { type: 'text', text: `[${type}]` }
  return { type: 'text', text: encodeItem(part, 'content') }
}
