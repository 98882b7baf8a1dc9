import type { Attachment } from './inbound.ts'
import type { TelegramMessage } from './telegram-update.ts'

// In this order, because an animation is repeated as a document and a venue as a location.
const files = [
  ['animation', 'video'],
  ['video', 'video'],
  ['video_note', 'video'],
  ['voice', 'voice'],
  ['audio', 'audio'],
  ['document', 'file'],
  ['sticker', 'sticker'],
] as const
const fileless = [
  ['venue', 'location'],
  ['location', 'location'],
  ['contact', 'contact'],
  ['poll', 'poll'],
  ['checklist', 'other'],
  ['dice', 'other'],
  ['game', 'other'],
  ['paid_media', 'other'],
  ['rich_message', 'other'],
  ['story', 'other'],
] as const

/** The media of a message; Telegram puts at most one into each (an album is several messages). */
export function telegramAttachments(message: TelegramMessage): readonly Attachment[] {
  // The last size of a photo is the largest.
  const photo = message.photo?.at(-1)
  if (photo) return [{ kind: 'image', id: photo.file_id, sizeBytes: photo.file_size }]
  for (const [field, kind] of files) {
    const file = message[field]
    if (!file) continue
    return [
      {
        kind,
        id: file.file_id,
        name: file.file_name,
        mimeType: file.mime_type,
        sizeBytes: file.file_size,
      },
    ]
  }
  const found = fileless.find(([field]) => message[field] !== undefined)
  return found ? [{ kind: found[1] }] : []
}
