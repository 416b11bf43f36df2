// Bodies: copies of flat-shaded meshes, posed by part.

// Where the character's parts turn, as in the mesh.
const HIP = 0.1;
const SHOULDER = 0.345;

struct BodyIn {
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) tint: vec4f,
    @location(3) role: vec4u,
    @location(4) place: vec4f,   // feet; scale
    @location(5) stand: vec3f,   // sine and cosine of where it faces, stretch
    @location(6) pose: vec4f,    // stride, lean, arms, head
    @location(7) color: vec4f,   // a: glow
    @location(8) accent: vec4f,  // a: presence
}

struct Posed {
    position: vec3f,
    normal: vec3f,
}

// Faces are flat and small, so that light is found at their corners: what is left for each pixel is whether the sun
// reaches it.
struct BodyOut {
    @builtin(position) clip: vec4f,
    @location(0) color: vec3f,                          // all of it, or all but the sun's part where there are shadows
    @location(1) sunny: vec3f,                          // the sun's part
    @location(2) world: vec3f,
    @location(3) @interpolate(flat) normal: vec3f,
    @location(4) @interpolate(flat) presence: f32,
}

// Turns about an axis to the east; a positive angle takes what hangs down to the front.
fn swing(v: vec3f, angle: f32) -> vec3f {
    let s = sin(angle);
    let c = cos(angle);
    return vec3f(v.x, v.y * c - v.z * s, v.y * s + v.z * c);
}

// Turns about the upright by an angle with this sine and cosine, clockwise from above.
fn turn(v: vec3f, facing: vec2f) -> vec3f {
    return vec3f(v.x * facing.y - v.z * facing.x, v.y, v.x * facing.x + v.z * facing.y);
}

fn posed(in: BodyIn) -> Posed {
    var p = in.position;
    var n = in.normal;
    if POSED {
        let part = in.role.x;
        let foot = part == 1u || part == 2u;
        let arm = part == 3u || part == 4u;
        let stride = select(in.pose.x, -in.pose.x, part == 2u || part == 3u);
        let angle = select(0.0, stride, foot) + select(0.0, in.pose.z + stride * 0.8, arm);
        let joint = vec3f(0.0, select(SHOULDER, HIP, foot), 0.0);
        p = swing(p - joint, angle) + joint;
        n = swing(n, angle);
        let glance = select(0.0, in.pose.w, part == 5u);
        let way = vec2f(sin(glance), cos(glance));
        p = turn(p, way);
        n = turn(n, way);
        // Feet stay where they are when the rest leans, unless it falls.
        let lean = -in.pose.y * select(1.0, smoothstep(0.8, 1.4, abs(in.pose.y)), foot);
        p = swing(p, lean);
        n = swing(n, lean);
    }
    let size = in.place.w * presence(in.place.xz);
    p = turn(p, in.stand.xy) * vec3f(1.0, in.stand.z, 1.0) * size + in.place.xyz;
    // Nothing is seen through the ground, which is not always there to hide it.
    p.y = max(p.y, 0.0);
    n = turn(n, in.stand.xy);
    return Posed(p, n);
}

@vertex
fn vertex(in: BodyIn) -> BodyOut {
    let at = posed(in);
    let world = at.position;
    // Instance colours are darkened by 200/255 in the mesh, so that faces can also be lighter than they.
    let own = select(in.color.rgb, in.accent.rgb, in.role.z == 1u);
    let instance = linear(own) * in.tint.rgb * in.tint.rgb * 1.6256;
    let albedo = mix(linear(in.tint.rgb), instance, in.tint.a);
    let glow = max(in.color.a, f32(in.role.y) / 255.0);

    let towards_eye = normalize(frame.eye.xyz - world);
    let edge = 1.0 - clamp(dot(at.normal, towards_eye), 0.0, 1.0);
    let rim = edge * edge * edge;
    // Low parts see less of the sky: a little darkness near the ground ties things to it.
    let open = mix(0.62, 1.0, smoothstep(0.0, 0.22, world.y));
    let light = ambient(at.normal) * open + frame.ambient_above.rgb * rim * 0.45 + vec3f(glow * 2.4);
    let sun = frame.sun.rgb * max(dot(at.normal, frame.sun_direction.xyz), 0.0);

    let clip = frame.clip_from_world * vec4f(world, 1.0);
    let place = clip.xy / max(clip.w, 0.01) * vec2f(0.5, -0.5) + 0.5;
    let shown = lit_up(world);
    let color = mix(sky(place), albedo * light, shown);
    let sunny = albedo * sun * shown;
    if SHADOWS {
        return BodyOut(clip, color, sunny, world, at.normal, in.accent.a);
    }
    return BodyOut(clip, covering(color + sunny).rgb, vec3f(0.0), world, at.normal, in.accent.a);
}

@vertex
fn shadow_vertex(in: BodyIn) -> @builtin(position) vec4f {
    let at = posed(in);
    // What is half gone throws no shadow.
    let hidden = select(0.0, 9.0, in.accent.a < 0.5);
    return frame.shadow_from_world * vec4f(at.position, 1.0) + vec4f(0.0, 0.0, hidden, 0.0);
}

@fragment
fn fragment(in: BodyOut) -> @location(0) vec4f {
    if in.presence < 0.999 && scatter(in.clip.xy) >= in.presence {
        discard;
    }
    if SHADOWS {
        return covering(in.color + in.sunny * sunlit(in.world, in.normal));
    }
    return vec4f(in.color, 1.0);
}
