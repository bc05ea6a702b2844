"""Solids built from plain parts, a function each; none of those on the turntable looks the same all round."""

from collections.abc import Callable

import numpy as np

from manifold_oos.datasets.render import Mesh
from manifold_oos.datasets.shapes import box, cone, curve, cylinder, ellipsoid, prism, revolve, tube


def _handle(height: float, reach: float, base: tuple[float, float], albedo: float, lean: float = 0) -> Mesh:
    """A handle in the x–z plane, from (x, z) = base up by height, where the wall is further out by lean."""
    x, z = base
    out, top = x + reach + lean / 2, x + lean
    path = curve([(x, 0, z), (out, 0, z + 0.12 * height), (out, 0, z + 0.8 * height), (top, 0, z + height)])
    return tube(path, 0.1, albedo)


def teapot() -> Mesh:
    """Body of revolution, lid with a knob, spout and handle."""
    outline = [(0.0, 0.0), (0.75, 0.0), (0.98, 0.2), (1.12, 0.55), (1.02, 0.9), (0.62, 1.2)]
    body = revolve([tuple(point) for point in curve(outline, 24)], 0.8)
    lid = revolve([(0.64, 1.2), (0.6, 1.27), (0.4, 1.36), (0.12, 1.4), (0.1, 1.45), (0.17, 1.53), (0, 1.6)], 0.7)
    spout = curve([(0.95, 0, 0.45), (1.35, 0, 0.6), (1.55, 0, 0.95), (1.85, 0, 1.22)])
    return body + lid + tube(spout, np.linspace(0.27, 0.1, 16), 0.8) + _handle(0.75, -0.75, (-0.95, 0.3), 0.75, 0.2)


def coffee_pot() -> Mesh:
    """Taller than the teapot, with a spout that starts high."""
    body = revolve([(0, 0), (0.85, 0), (0.8, 0.5), (0.62, 1.2), (0.5, 1.75)], 0.75)
    lid = revolve([(0.5, 1.75), (0.4, 1.9), (0.1, 1.98), (0.14, 2.1), (0, 2.18)], 0.6)
    spout = curve([(0.7, 0, 0.7), (1.1, 0, 0.95), (1.25, 0, 1.5), (1.5, 0, 1.75)])
    return body + lid + tube(spout, np.linspace(0.2, 0.08, 16), 0.75) + _handle(1.0, -0.7, (-0.72, 0.5), 0.7, 0.2)


def _cup(top: float, bottom: float, height: float, albedo: float) -> Mesh:
    """An open cup with a wall in ten rings, a floor and a handle."""
    outside = [(bottom + part * (top - bottom), part * height) for part in np.linspace(0, 1, 11)]
    wall = [(0, 0), *outside, (0.9 * top, height), (0.9 * bottom, 0.12), (0, 0.12)]
    lean = 0.6 * (top - bottom)
    return revolve(wall, albedo) + _handle(0.6 * height, 0.5, (bottom + lean / 3, 0.2 * height), albedo, lean)


def mug() -> Mesh:
    """A straight mug with a small emblem opposite to its handle."""
    cup = _cup(0.8, 0.8, 1.7, 0.82)
    x, y, z = cup.centres.T
    return cup.painted((x**2 + y**2 > 0.55) & (x < -0.5) & (z > 0.6) & (z < 1.2), 0.6)


def striped_mug() -> Mesh:
    """The straight mug, a little lower, with a broad dark band all round and a dark picture on one side."""
    cup = _cup(0.82, 0.8, 1.6, 0.8)
    x, y, z = cup.centres.T
    outside = (x**2 + y**2 > 0.6) & (z < 1.59)
    return cup.painted(outside & (x < 0.8) & (((z > 0.3) & (z < 0.97)) | ((y > 0.3) & (x < 0.6))), 0.35)


def teacup() -> Mesh:
    """A wide cup with a foot, and a dark flower opposite to its handle."""
    cup = _cup(1.05, 0.55, 1.05, 0.85)
    x, y, z = cup.centres.T
    outside = np.hypot(x, y) > 0.94 * (0.55 + 0.5 * z / 1.05)
    cup = cup.painted(outside & (x < -0.5) & (z > 0.3) & (z < 0.8), 0.55)
    return cup + cylinder(0.45, 0.1, 0.85).moved((0, 0, -0.1))


def jug() -> Mesh:
    """A belly, a neck, a lip on one side and a handle on the other."""
    outline = curve([(0.55, 0), (0.85, 0.5), (0.75, 1.1), (0.42, 1.55), (0.55, 1.9)], 20)
    body = revolve([(0, 0), *(tuple(point) for point in outline)], 0.65)
    lip = tube(curve([(0.3, 0, 1.6), (0.55, 0, 1.85), (0.8, 0, 1.98)]), np.linspace(0.25, 0.07, 16), 0.65)
    return body + lip + _handle(1.1, -0.6, (-0.75, 0.7), 0.65, 0.2)


def _car(outline: list[tuple[float, float]], width: float, albedo: float, wheels: tuple[float, float]) -> Mesh:
    """A side view (x, z) drawn across the width, on four wheels, with dark front and rear windows."""
    body = prism(outline, width, albedo).moved((0, width / 2, 0), roll=90)
    _, y, z = body.centres.T
    body = body.painted((abs(y) < 0.01) & (z > 0.75) & (z < 1.05), 0.15)
    wheel = cylinder(0.24, 0.16, 0.2, 20).moved(roll=90)
    car = body
    for x in wheels:
        for y in (-width / 2 + 0.1, width / 2 + 0.06):
            car = car + wheel.moved((x, y, 0.2))
    return car


def _pane(x: tuple[float, float], z: tuple[float, float], width: float) -> Mesh:
    """Dark glass on both sides of a car, between two x and two z."""
    glass = box(x[1] - x[0], width + 0.02, z[1] - z[0], 0.15)
    return glass.moved(((x[0] + x[1]) / 2, 0, z[0]))


def sedan() -> Mesh:
    """A car with a bonnet and a boot."""
    side = [
        (-1.6, 0.2),
        (1.6, 0.2),
        (1.6, 0.55),
        (0.95, 0.65),
        (0.5, 1.1),
        (-0.6, 1.1),
        (-1.05, 0.68),
        (-1.6, 0.62),
    ]
    glass = _pane((-0.5, -0.05), (0.7, 1.0), 1.1) + _pane((0.03, 0.5), (0.7, 1.0), 1.1)
    lights = box(0.04, 0.9, 0.12, 1.0).moved((1.6, 0, 0.35)) + box(0.04, 1.0, 0.1, 0.35).moved((-1.6, 0, 0.42))
    return _car(side, 1.1, 0.55, (-0.95, 0.95)) + glass + lights


def hatchback() -> Mesh:
    """A shorter and higher car without a boot."""
    side = [(-1.25, 0.2), (1.35, 0.2), (1.35, 0.6), (0.85, 0.7), (0.45, 1.35), (-0.95, 1.35), (-1.25, 0.72)]
    glass = _pane((-0.85, -0.15), (0.78, 1.2), 1.12) + _pane((-0.07, 0.4), (0.78, 1.2), 1.12)
    lights = box(0.04, 0.95, 0.12, 1.0).moved((1.35, 0, 0.35)) + box(0.04, 1.0, 0.1, 0.35).moved((-1.25, 0, 0.42))
    return _car(side, 1.12, 0.95, (-0.75, 0.82)) + glass + lights


def lorry() -> Mesh:
    """A cab before a closed body."""
    side = [(-1.6, 0.25), (1.4, 0.25), (1.4, 0.75), (1.2, 1.25), (0.6, 1.25), (0.6, 0.45), (-1.6, 0.45)]
    body = box(2.1, 1.2, 1.25, 0.85).moved((-0.55, 0, 0.45))
    glass = _pane((0.72, 1.15), (0.8, 1.12), 1.1) + box(0.04, 0.9, 0.14, 1.0).moved((1.4, 0, 0.4))
    return _car(side, 1.1, 0.4, (-1.0, 0.95)) + body + glass


def house() -> Mesh:
    """Walls, a gable roof, a chimney, a door and windows."""
    walls = box(2.0, 1.4, 1.0, 0.85, cells=10)
    x, y, z = walls.centres.T
    walls = walls.painted((y < -0.69) & (abs(x + 0.5) < 0.2) & (z < 0.6), 0.25)
    walls = walls.painted((y < -0.69) & (abs(x - 0.4) < 0.25) & (abs(z - 0.6) < 0.17), 0.35)
    walls = walls.painted((x > 0.99) & (abs(y) < 0.2) & (abs(z - 0.6) < 0.17), 0.35)
    roof = prism([(-0.85, 0), (0.85, 0), (0, 0.7)], 2.2, 0.5).moved(yaw=90, roll=90).moved((-1.1, 0, 1.0))
    return walls + roof + box(0.25, 0.25, 0.7, 0.6).moved((0.6, 0.3, 1.2))


def medicine_box() -> Mesh:
    """A carton with a dark band, a printed square on one side and a mark on one end."""
    carton = box(1.5, 0.7, 1.2, 0.9, cells=12)
    x, y, z = carton.centres.T
    carton = carton.painted((z < 0.35) & (z > 0.1), 0.3).painted((x > 0.74) & (abs(y) < 0.15) & (z > 0.6), 0.6)
    return carton.painted((y < -0.34) & (abs(x + 0.35) < 0.2) & (abs(z - 0.75) < 0.2), 0.45)


def tea_box() -> Mesh:
    """A carton like the other, printed otherwise on one side and one end."""
    carton = box(1.45, 0.9, 1.15, 0.7, cells=12)
    x, y, z = carton.centres.T
    carton = carton.painted((z > 0.75) & (z < 0.95), 0.35).painted((x > 0.72) & (y > 0.1) & (z < 0.5), 0.5)
    return carton.painted((y < -0.39) & (abs(x - 0.3) < 0.3) & (abs(z - 0.4) < 0.15), 0.4)


def chair() -> Mesh:
    """A seat, four legs and a back."""
    legs = [box(0.12, 0.12, 0.9, 0.6).moved((x, y, 0)) for x in (-0.45, 0.45) for y in (-0.45, 0.45)]
    back = [box(0.1, 0.12, 1.0, 0.6).moved((-0.47, y, 0.98)) for y in (-0.45, 0.0, 0.45)]
    chair = box(1.1, 1.1, 0.1, 0.75).moved((0, 0, 0.88)) + box(0.1, 1.1, 0.2, 0.75).moved((-0.47, 0, 1.85))
    for part in legs + back:
        chair = chair + part
    return chair


def duck() -> Mesh:
    """A bath duck."""
    body = ellipsoid((1.0, 0.7, 0.6), 0.85) + ellipsoid((0.45, 0.42, 0.42), 0.85).moved((0.6, 0, 0.85))
    tail = cone(0.3, 0.7, 0.85).moved((-0.75, 0, 0.2), pitch=-55)
    eyes = ellipsoid((0.08, 0.08, 0.08), 0.1).moved((0.88, 0.25, 1.0)) + ellipsoid((0.08, 0.08, 0.08), 0.1).moved(
        (0.88, -0.25, 1.0)
    )
    return body + tail + eyes + ellipsoid((0.3, 0.2, 0.07), 0.45).moved((1.1, 0, 0.8))


def pig() -> Mesh:
    """A money box on four legs, with ears and a snout."""
    body = ellipsoid((1.0, 0.7, 0.65), 0.8).moved((0, 0, 0.8)) + ellipsoid((0.45, 0.42, 0.42), 0.8).moved(
        (0.85, 0, 0.95)
    )
    snout = cylinder(0.2, 0.25, 0.6).moved((1.15, 0, 0.88), pitch=90)
    pig = body + snout + tube(curve([(-0.95, 0, 0.9), (-1.15, 0.1, 1.05), (-1.1, -0.1, 1.2)]), 0.05, 0.8)
    for side in (-1, 1):
        pig = pig + cone(0.16, 0.32, 0.7).moved((0.75, 0.25 * side, 1.25), roll=-20 * side)
        pig = pig + cylinder(0.17, 0.5, 0.7).moved((0.5, 0.35 * side, 0))
        pig = pig + cylinder(0.17, 0.5, 0.7).moved((-0.5, 0.35 * side, 0))
    return pig


def dog() -> Mesh:
    """A standing dog of tubes and balls."""
    body = tube(curve([(-0.9, 0, 0.9), (0, 0, 0.95), (0.8, 0, 1.0)]), np.linspace(0.32, 0.4, 16), 0.6)
    head = ellipsoid((0.38, 0.3, 0.32), 0.6).moved((1.1, 0, 1.5)) + ellipsoid((0.3, 0.17, 0.15), 0.45).moved(
        (1.42, 0, 1.42)
    )
    dog = body + head + tube(curve([(0.75, 0, 1.05), (0.95, 0, 1.3), (1.05, 0, 1.45)]), 0.24, 0.6)
    dog = dog + tube(curve([(-0.9, 0, 1.0), (-1.2, 0, 1.25), (-1.25, 0, 1.6)]), 0.08, 0.6)
    for side in (-1, 1):
        dog = dog + ellipsoid((0.1, 0.07, 0.28), 0.35).moved((1.0, 0.3 * side, 1.45))
        for x in (-0.75, 0.65):
            dog = dog + tube(
                curve([(x, 0.22 * side, 0.85), (x, 0.24 * side, 0.4), (x + 0.08, 0.24 * side, 0)]), 0.13, 0.6
            )
    return dog


def snowman() -> Mesh:
    """Three balls, a carrot, buttons, a hat and a broom."""
    man = ellipsoid((0.8, 0.8, 0.75), 0.95) + ellipsoid((0.58, 0.58, 0.55), 0.95).moved((0, 0, 1.05))
    man = (
        man
        + ellipsoid((0.42, 0.42, 0.4), 0.95).moved((0, 0, 1.8))
        + cone(0.09, 0.5, 0.5).moved((0.38, 0, 1.8), pitch=95)
    )
    man = man + cylinder(0.5, 0.06, 0.15).moved((0, 0, 2.08)) + cylinder(0.3, 0.45, 0.15).moved((0, 0, 2.1))
    for place in ((0.56, 0, 1.2), (0.58, 0, 0.95), (0.33, 0.16, 1.95), (0.33, -0.16, 1.95)):
        man = man + ellipsoid((0.07, 0.07, 0.07), 0.1).moved(place)
    return man + tube([(0.3, 0.85, -0.7), (0.2, 0.85, 0.6), (0.1, 0.85, 1.8)], 0.05, 0.4)


def boat() -> Mesh:
    """A hull with a mast and two sails."""
    deck = [(1.5, 0), (0.9, 0.4), (-0.4, 0.5), (-1.3, 0.38), (-1.3, -0.38), (-0.4, -0.5), (0.9, -0.4)]
    hull = prism(deck, 0.4, 0.45) + prism([(0.7 * x, 0.5 * y) for x, y in deck], 0.25, 0.35).moved((0, 0, -0.25))
    main = prism([(-0.15, 0.55), (-1.3, 0.6), (-0.15, 2.4)], 0.03, 0.95).moved((0, 0.015, 0), roll=90)
    jib = prism([(0.0, 0.5), (1.35, 0.5), (0.0, 2.0)], 0.03, 0.85).moved((0.1, 0.015, 0), roll=90, yaw=-8)
    return hull + main + jib + cylinder(0.05, 2.2, 0.5).moved((-0.05, 0, 0.3))


def stairs() -> Mesh:
    """A winding stair about a post."""
    flight = cylinder(0.16, 2.2, 0.5)
    for step in range(11):
        tread = prism([(0, -0.12), (1.1, -0.32), (1.1, 0.32), (0, 0.12)], 0.1, 0.85 - 0.02 * step)
        flight = flight + tread.moved((0, 0, 0.18 * step + 0.05), yaw=28 * step)
    return flight


def lamp() -> Mesh:
    """A desk lamp: a foot, a bent arm and a shade."""
    arm = tube(curve([(-0.3, 0, 0.1), (-0.6, 0, 1.0), (-0.1, 0, 1.75), (0.5, 0, 1.8)], 20), 0.07, 0.5)
    shade = revolve([(0.12, 0.5), (0.2, 0.4), (0.6, -0.2), (0.55, -0.2), (0.15, 0.38)], 0.85).moved(
        (0.6, 0, 1.6), pitch=-25
    )
    return cylinder(0.6, 0.12, 0.4).moved((-0.3, 0, 0)) + arm + shade


def head() -> Mesh:
    """A head with eyes, brows, nose, mouth and ears, looking at the viewer: not on the turntable."""
    skull = ellipsoid((0.78, 0.8, 1.0), 0.85) + ellipsoid((0.82, 0.8, 0.75), 0.3).moved((0, 0.12, 0.42))
    face = (
        skull
        + cone(0.16, 0.45, 0.85).moved((0, -0.72, -0.22), roll=14)
        + cylinder(0.4, 0.7, 0.75).moved((0, 0, -1.4))
    )
    face = face + ellipsoid((0.27, 0.1, 0.06), 0.4).moved((0, -0.62, -0.5))
    for side in (-1, 1):
        face = face + ellipsoid((0.15, 0.08, 0.1), 0.95).moved((0.3 * side, -0.7, 0.12))
        face = face + ellipsoid((0.06, 0.05, 0.07), 0.05).moved((0.3 * side, -0.77, 0.12))
        face = face + ellipsoid((0.2, 0.06, 0.04), 0.2).moved((0.3 * side, -0.74, 0.3))
        face = face + ellipsoid((0.1, 0.12, 0.22), 0.8).moved((0.8 * side, 0, 0))
    return face


#: Every solid of the turntable by its name, in the order of the class labels.
SOLIDS: dict[str, Callable[[], Mesh]] = {
    function.__name__: function
    for function in (
        teapot,
        coffee_pot,
        mug,
        striped_mug,
        teacup,
        jug,
        sedan,
        hatchback,
        lorry,
        house,
        medicine_box,
        tea_box,
        chair,
        duck,
        pig,
        dog,
        snowman,
        boat,
        stairs,
        lamp,
    )
}
