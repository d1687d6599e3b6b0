"""Runs methods of a package's user data class, confined.

Standard input has one JSON document, written by script.go; the answer is one JSON document on descriptor 3. Whatever the script prints
goes to the standard output and does no harm.
"""

import json
import os
import sys

ANSWER = 3


def answer(**document):
    """Writes the answer and ends the process at once, whatever the script has left behind."""
    data = json.dumps(document).encode()
    while data:
        data = data[os.write(ANSWER, data):]
    os._exit(0)


def prepare(task):
    """Builds the search path of modules and confines this process. Returns the modules of ours that are used from then on."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    import base64
    import copy
    import importlib
    import site
    import traceback

    import confine
    import records
    sys.path[0] = os.path.join(os.path.dirname(here), 'modules')
    del sys.modules['confine'], sys.modules['records']  # the package may have modules of these names
    # As installed packages are, but without their start-up files: what a script imports beyond the standard library is the host's.
    sys.path.extend(path for path in site.getsitepackages() if os.path.isdir(path))
    refusal = confine.confine(base64.b64decode(task['filter']), task['limits'], sys.path + [task['root']], task['ownAccount'])
    if refusal:
        answer(refused=refusal)
    sys.path.append(task['root'])
    return copy, importlib, traceback, records


class Missing(Exception):
    """The class lacks a method that it may lack."""


def call(task, copy, importlib, records):
    """Imports the class and calls the method as often as the task says; each call gets the parameters that the last one has left."""
    module = importlib.import_module(task['module'])
    owner = getattr(module, task['class'], None)
    if owner is None:
        raise LookupError('the file has no class %s' % task['class'])
    method = getattr(owner, task['method'], None)
    if method is None and task['optional']:
        raise Missing
    if method is None:
        raise LookupError('class %s has no method %s' % (task['class'], task['method']))
    parameters = task['parameters']
    for arguments in task['calls']:
        values = [copy.deepcopy(parameters) if argument.get('kind') == 'parameters'
                  else records.build(argument.get('kind'), argument['value']) for argument in arguments]
        result = method(*values)
        if not isinstance(result, dict) and (result is not None or not task['optional']):
            raise TypeError('return value as HOT parameter from UserData is not in dict format: %s returned a value of type %s'
                            % (task['method'], type(result).__name__))
        if result or not task['optional']:
            parameters = plain(result, 'the result')
    return parameters


def plain(value, path):
    """Returns what JSON can hold of a value, or says where it cannot."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value - value == 0:
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain(element, '%s[%d]' % (path, i)) for i, element in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, (str, int)):
                raise TypeError('%s has a key of type %s, which a Heat parameter cannot have' % (path, type(key).__name__))
        return {str(key): plain(element, '%s[%r]' % (path, key)) for key, element in value.items()}
    raise TypeError('%s is %.80r of type %s, which a Heat parameter cannot be' % (path, value, type(value).__name__))


def describe(error, root, traceback):
    """Returns the message of an exception, with the last line of the package's own that it came from."""
    message = '%s: %s' % (type(error).__name__, error) if str(error) else type(error).__name__
    if isinstance(error, SystemExit):
        message = 'the script ends the process (%s)' % message
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        message = '%s: %s' % (type(error).__name__, error.msg)
        places.append((error.filename, error.lineno))
    for name, line in reversed(places):
        if name and name.startswith(root + os.sep):
            return '%s (%s, line %s)' % (message, os.path.relpath(name, root), line)
    return message


def main():
    task = json.loads(sys.stdin.buffer.read().decode())
    copy, importlib, traceback, records = prepare(task)
    try:
        parameters = call(task, copy, importlib, records)
    except Missing:
        answer(missing=True)
    except BaseException as error:  # SystemExit too: the message has to reach the user
        try:
            message = describe(error, task['root'], traceback)
        except BaseException:  # of a class whose __str__ fails
            message = type(error).__name__
        answer(error=message[:4000])
    answer(parameters=parameters)


main()
