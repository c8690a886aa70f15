"""The screen, in Textual.

`apps` run `screens`, which are composed of `panels`, and these of `widgets`; `keys` has their keys and
commands, `dialogs` what is asked. `sources` says what is shown, `look` how; `base` is what screens share.
"""
