import type { TelegramMessage } from './telegram-update.ts'

const TEXTS = ['text', 'caption', 'author_signature']
const FILES = ['animation', 'audio', 'document', 'sticker', 'video', 'video_note', 'voice']

/** Whether the fields that the translator reads are what the Bot API says they are. */
export function isTelegramMessage(message: unknown): message is TelegramMessage {
  if (!isRecord(message) || !isNamed(message['chat'])) return false
  const { chat, date, edit_date: editDate, photo } = message
  return (
    typeof message['message_id'] === 'number' &&
    typeof date === 'number' &&
    isAbsentOr(editDate, (it) => typeof it === 'number') &&
    isRecord(chat) &&
    typeof chat['type'] === 'string' &&
    isAbsentOr(message['from'], isNamed) &&
    isAbsentOr(message['sender_chat'], isNamed) &&
    isAbsentOr(message['reply_to_message'], isRecord) &&
    TEXTS.every((field) => isAbsentOr(message[field], isText)) &&
    FILES.every((field) => isAbsentOr(message[field], isFile)) &&
    isAbsentOr(photo, (it) => Array.isArray(it) && it.every(isFile))
  )
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNamed(value: unknown): boolean {
  if (!isRecord(value) || typeof value['id'] !== 'number') return false
  return ['title', 'first_name', 'last_name'].every((field) => isAbsentOr(value[field], isText))
}

function isFile(value: unknown): boolean {
  return isRecord(value) && typeof value['file_id'] === 'string'
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isAbsentOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || value === null || is(value)
}
