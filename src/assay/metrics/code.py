"""Metrics in the user's own code, by name: ``path/to/file.py:Class`` and ``module:Class``, or a function there.

Loading one runs its code, so that only the user may name it: see :func:`assay.metrics.load.load_untrusted_metric`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.exceptions import InputError, error_location, summary_of, unknown_name
from assay.metrics.base import Metric
from assay.metrics.function import function_metric
from assay.metrics.name import MetricName
from assay.metrics.objects import plain_name
from assay.metrics.registry import registry
from assay.paths import suggested_path, user_path


def names_code(name: MetricName) -> bool:
    """Tell whether a name means code of the user's: a Python file, or a module and a name in it; imports nothing.

    Of a module only the top-level package has to exist, installed or in the working folder. A name that a metric has
    means that metric.
    """
    if name.name.endswith(".py"):
        return True
    if not (name.subject or "").isidentifier() or name.name in {entry.name for entry in registry().entries()}:
        return False
    # the package alone, since the search for a module in it would import it
    package = name.name.partition(".")[0]
    return package in sys.modules or importlib.util.find_spec(package) is not None or _is_in_working_folder(package)


def _is_in_working_folder(package: str) -> bool:
    """Tell whether a module or package is in the working folder, where a program that is installed does not look."""
    spec = PathFinder.find_spec(package, [str(Path.cwd())])
    return spec is not None and spec.loader is not None


def load_code(name: MetricName) -> Metric:
    """Return the metric class or function of a file or module as a metric, with the options of the name.

    Another object that can be called counts as a function. The signature of a function has the digest of the whole file
    or module.

    Raises:
        InputError: there is no such file, module, class or function, importing it fails, the function cannot be called
            with two texts or has no source, or an option is wrong or missing; or the name has no subject, and then the
            message proposes one.
    """
    module = _file_module(name) if name.name.endswith(".py") else _imported_module(name)
    named_object = getattr(module, name.subject, None) if name.subject else None
    if isinstance(named_object, type) and issubclass(named_object, Metric):
        return registry().build_class(named_object, name)
    # a function, or an object that can be called, such as one of functools.partial; built-in ones have no source
    if callable(named_object) and not isinstance(named_object, type) and not inspect.isbuiltin(named_object):
        function_name = str(getattr(named_object, "__qualname__", name.subject))
        try:
            signed = (("function", function_name), ("code", _source_digest(module)))
        except (OSError, TypeError):
            raise InputError(
                f"metric {name.text}: {name.name} has no source in Python, which the signature needs; call it in a "
                "function of your own"
            ) from None
        title = plain_name(str(name.subject))
        return registry().build_class(type(function_metric(named_object, name=title, signed=signed)), name)
    metric_names = {key for key, value in vars(module).items() if _is_metric(value, module)}
    if name.subject is None:
        raise InputError(
            f"metric {name.text}: name the class or function in it, such as "
            f"{name.name}:{min(metric_names, default='NAME')}"
        )
    raise InputError(unknown_name(f"{name.name}: has no metric class or function", name.subject, sorted(metric_names)))


@functools.cache
def _source_digest(module: ModuleType) -> str:
    """Return 16 digits of the SHA-256 of the source of a module, read once: a module stays as it was imported.

    Raises:
        OSError, TypeError: the module has no source, such as one in C.
    """
    return hashlib.sha256(inspect.getsource(module).encode()).hexdigest()[:16]


def _is_metric(value: Any, module: ModuleType) -> bool:
    """Tell whether a value of a module is a metric class or a function, defined there under a public name."""
    is_kind = inspect.isfunction(value) or (isinstance(value, type) and issubclass(value, Metric))
    return is_kind and value.__module__ == module.__name__ and not value.__name__.startswith("_")


def _file_module(name: MetricName) -> ModuleType:
    """Return the module of a Python file, registered in ``sys.modules``; a file that did not change is run once.

    Args:
        name: the name of the metric, which begins with the path of the file.

    Raises:
        InputError: there is no such file, or running it fails.
    """
    path = user_path(name.name).resolve()
    if not path.is_file():
        suggestion = suggested_path(user_path(name.name), lambda other: other.suffix == ".py" and other.is_file())
        raise InputError(
            f"metric {name.text}: there is no file {name.name}" + (f". {suggestion}" if suggestion else "")
        )
    content = path.read_bytes()
    # classes of a changed file are others; pickling needs the module by its name
    title = f"assay_file_{path.stem}_{hashlib.sha256(str(path).encode() + content).hexdigest()[:12]}"
    if title in sys.modules:
        return sys.modules[title]
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        raise InputError(f"metric {name.text}: {name.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    # a file may import its neighbours, as a script does
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[title]
        raise InputError(_failure(name, error)) from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _imported_module(name: MetricName) -> ModuleType:
    """Return the imported module that the name of a metric begins with.

    If no such module is installed, the working folder is searched, too, and stays on the search path.

    Raises:
        InputError: it cannot be imported.
    """
    package, here = name.name.partition(".")[0], str(Path.cwd())
    if package not in sys.modules and importlib.util.find_spec(package) is None and here not in sys.path:
        # kept, since worker processes import the module by its name
        sys.path.append(here)
    try:
        return importlib.import_module(name.name)
    except (Exception, SystemExit) as error:
        raise InputError(_failure(name, error)) from error


def _failure(name: MetricName, error: BaseException) -> str:
    # the message of a syntax error has the file and line, and the error itself is raised by Python
    location = "" if isinstance(error, SyntaxError) else f" ({error_location(error)})"
    return f"metric {name.text}: {name.name} cannot be imported: {summary_of(error)}{location}"
