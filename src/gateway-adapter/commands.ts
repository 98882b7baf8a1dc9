import { lookupText, optionalText } from '../repositories/input.ts'
import { optionsOf } from './arguments.ts'

/** A command for this bot, or one that names another bot and must be neither run nor answered. */
export type ParsedCommand =
  | { readonly addressedElsewhere: false; readonly name: string; readonly argument: string }
  | { readonly addressedElsewhere: true; readonly botUserName: string }

/** Whose commands they are. */
export interface CommandOptions {
  /** This bot's user name, with or without '@'. Without it every command counts as addressed to this bot. */
  readonly botUserName?: string | undefined
}

const command = /^\/(?<name>[a-z][\w-]*)(?:@(?<bot>\w+))?(?:\s(?<argument>[^]*))?$/i

/**
 * Reads `/title My title` and `/search@MyBot words`; undefined for any other text, paths like `/usr/bin` included.
 *
 * The name comes in lower case, the argument trimmed with its inner line breaks kept ('' when there is none).
 *
 * @throws {InvalidInputError} when the text is none.
 */
export function parseCommand(text: string, options?: CommandOptions): ParsedCommand | undefined {
  const { botUserName } = optionsOf('options', options)
  const userName = optionalText('botUserName', botUserName) ?? undefined
  const groups = command.exec(lookupText('text', text).trim())?.groups
  if (!groups) return undefined
  const { name = '', bot, argument = '' } = groups
  const me = userName?.replace(/^@/, '')
  if (bot !== undefined && me !== undefined && bot.toLowerCase() !== me.toLowerCase()) {
    return { addressedElsewhere: true, botUserName: bot }
  }
  return { addressedElsewhere: false, name: name.toLowerCase(), argument: argument.trim() }
}
