# SPDX-License-Identifier: Apache-2.0
# Launcher of the compiler in the copy: takes the object that reuse.py put into $BYOC_REUSE, or runs the command.
object= last=
for word in "$@"; do
  [ "$last" = -o ] && object=$word
  last=$word
done
if [ -n "$object" ] && [ -e "$BYOC_REUSE/$object" ]; then
  exec ln -f "$BYOC_REUSE/$object" "$object"
fi
exec "$@"
